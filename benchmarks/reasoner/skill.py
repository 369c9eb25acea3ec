"""How good the synthetic reasoner is at each thing; chances in [0, 1] unless said otherwise.

None of it is told which approach or value is right, except through the chances to derive a value
and to see an error in a check.
"""

from dataclasses import dataclass, field, replace

from benchmarks.reasoner.world import Nature


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """What the reasoner can do; the defaults make problems hard and agents fallible."""

    nature: Nature = field(default_factory=Nature)

    # Writing a solution
    derives: float = 0.55
    """Finds a value by itself."""
    reuses: float = 0.9
    """Takes a value over that its experience holds, or that stands unrefuted in its own text."""
    follows: float = 0.7
    """Takes a value over on which most of the attempts it sees agree, or that checks name."""
    fixates: float = 0.97
    """Keeps to the approach of an attempt it is shown, viable or not, rather than to habit."""
    merit: float = 1.0
    """How far a score counts when it picks whom to follow: exponent of (0.1 + score)."""
    clings: float = 0.1
    """Weight that an approach keeps which the checks call a dead end."""
    leaves: float = 0.5
    """Gives up an approach that reviews call a dead end, if told that it may."""
    obeys: float = 0.95
    """Leaves out a strategy that it is told to avoid, in a list or as a pitfall."""

    # Checking one
    sees_slip: float = 0.7
    """Finds a wrong value: sensitivity for values that are wrong in an odd way."""
    sees_temptation: float = 0.45
    """Finds a wrong value that most would find, too."""
    blind: float = 0.0
    """Share of the tempting values that no check finds wrong, so that all checks err together.

    The others are seen as much more often, so that one check alone is as good as before.
    """
    false_alarm: float = 0.03
    """Takes a right value for a wrong one, or a way that works for a dead end: 1 − specificity."""
    sees_dead_end: float = 0.3
    """Notices that an approach can't reach the goal."""
    coins: float = 0.0
    """Share of checks that look at nothing: half of them pass, half blame one step at random."""

    # Noting
    extracts: float = 0.9
    """Notes a fact that the summaries confirm, and judges a noted one again."""
    names: float = 0.95
    """Names the strategy of an attempt."""

    def seen(self, blind_spot: bool) -> float:
        """The chance to find a tempting value wrong, there or elsewhere."""
        return 0.0 if blind_spot else min(1.0, self.sees_temptation / (1 - self.blind))

    def with_noise(self, noise: float) -> "Skill":
        """The same reasoner as a worse verifier: at 0 as it is, at 1 no better than a coin.

        What falls in a straight line are sensitivity and specificity of one check of a whole
        solution, as verifiers are measured. Worse chances for each value would fall as their
        product: of solutions with six right values a coin per value passes one in sixty-four.
        """
        return replace(self, coins=self.coins * (1 - noise) + noise)
