"""How good the synthetic reasoner is at each thing; every figure is a chance in [0, 1]."""

from dataclasses import dataclass, field

from reasoner.world import Nature


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """What the reasoner can do; the defaults make problems hard and agents fallible."""

    nature: Nature = field(default_factory=Nature)
    derives: float = 0.55
    """Finds a value by itself."""
    reuses: float = 0.9
    """Takes a value over that its experience holds."""
    follows: float = 0.7
    """Takes a value over that the attempts it sees agree on."""
    imitates: float = 0.8
    """Stays with an approach of the attempts it sees, best scores before others."""
    obeys: float = 0.95
    """Leaves out a strategy that it is told to avoid."""
    sees_slip: float = 0.7
    """A check finds a wrong value; sensitivity for values that are wrong in an odd way."""
    sees_temptation: float = 0.45
    """A check finds a wrong value that most would find, too."""
    false_alarm: float = 0.03
    """A check takes a right value for a wrong one; 1 − specificity."""
    sees_dead_end: float = 0.3
    """A check notices that an approach can't reach the goal."""
    extracts: float = 0.9
    """A fact that the summaries confirm is noted; and a noted one is judged again."""
    names: float = 0.95
    """A strategy of an attempt is named."""

    def with_noise(self, noise: float) -> "Skill":
        """The same reasoner as a worse verifier: 0 as it is, 1 no better than a coin."""
        from dataclasses import replace  # noqa: PLC0415

        def worse(chance: float) -> float:
            return chance * (1 - noise) + 0.5 * noise

        return replace(
            self,
            sees_slip=worse(self.sees_slip),
            sees_temptation=worse(self.sees_temptation),
            false_alarm=worse(self.false_alarm),
            sees_dead_end=worse(self.sees_dead_end),
        )
