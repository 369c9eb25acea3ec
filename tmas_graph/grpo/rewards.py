r"""The hybrid reward: what one completion earns, component by component.

| mode | prompt holds | reward |
|---|---|---|
| normal | the problem | right +1, wrong −1 |
| experience | an experience bank too | right 1 + λ(1 − p0), wrong −1 |
| guideline | a guideline bank too | right and novel 1 + β, right and listed −δ, wrong −1 |

p0 is the pass rate of the same problem without the bank. Every bonus and penalty but `overlong`
is gated on correctness, so that no shaping can be had without being right.

Departures from the paper, whose coefficients aren't public:
1. λ, β and δ are .5, .5 and .5.
2. A completion that shows several different boxed answers in different places is wrong: the grader
   reads the last, so that a policy could learn to list guesses.
3. A completion that is mostly copied from the bank earns no bonus.
4. Novelty that nobody could judge earns neither bonus nor penalty.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field

from tmas_graph.grpo.hacks import final_text, is_copied, is_hedged
from tmas_graph.grpo.knobs import Knobs

Mode = Literal["normal", "experience", "guideline"]
Novelty = Literal["novel", "listed", "unused", "unreadable", "unknown"]
"""Of the strategy a completion uses: not in the list, in it, named but not used, judged in words
that can't be read, not judged."""
Grader = Callable[[str, str], bool]
"""(completion, ground truth) to "is it right"."""


class RewardSettings(Knobs):
    """The coefficients of the hybrid reward."""

    experience_bonus: float = Field(0.5, ge=0)
    """λ: what a right answer earns more at p0 = 0, where the prompt holds an experience bank."""
    novelty_bonus: float = Field(0.5, ge=0)
    """β: what a right answer by a strategy that isn't listed earns more."""
    listed_penalty: float | None = Field(0.5, ge=0)
    """δ: a right answer by a listed strategy earns −δ in place of 1; none: it earns 1."""
    copied_share: float = Field(0.5, gt=0, le=1)
    """From this share of words copied from the bank on, a completion earns no bonus."""
    max_tokens: int = Field(0, ge=0)
    """L_max of the overlong penalty; 0: there is none."""
    overlong_buffer: int = Field(0, ge=0)
    """Tokens before max_tokens over which the penalty grows from 0 to −1."""

    @classmethod
    def vanilla(cls) -> Self:
        """Give the baseline: correctness alone."""
        return cls(experience_bonus=0, novelty_bonus=0, listed_penalty=None)


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion as its reward sees it."""

    mode: Mode
    text: str
    tokens: int = 0
    truncated: bool = False
    """The server's finish reason was "length"; it then has no answer."""
    bank: tuple[str, ...] = ()
    """What the bank in its prompt says, for telling copies."""


@dataclass(frozen=True, slots=True)
class Reward:
    """What one completion earned, by component."""

    correct: bool
    correctness: float
    experience: float = 0.0
    guideline: float = 0.0
    overlong: float = 0.0

    @property
    def shaping(self) -> float:
        """All but correctness."""
        return self.experience + self.guideline + self.overlong

    @property
    def total(self) -> float:
        """All components together."""
        return self.correctness + self.shaping


def is_correct(completion: Completion, gold: str, grader: Grader) -> bool:
    """Ask the grader, after refusing what has no single answer: empty, cut off, hedged."""
    text = final_text(completion.text)
    if completion.truncated or not text or is_hedged(text):
        return False
    return grader(completion.text, gold)


def reward(
    completion: Completion,
    correct: bool,
    settings: RewardSettings | None = None,
    *,
    p0: float | None = None,
    novelty: Novelty = "unknown",
) -> Reward:
    """Give the reward of a completion that was graded.

    Without a known `p0` the experience bonus is 0: unknown isn't "never solved".
    """
    settings = settings or RewardSettings()
    long = overlong(completion.tokens, settings.max_tokens, settings.overlong_buffer)
    if not correct:
        return Reward(False, -1.0, overlong=long)
    experience = guideline = 0.0
    copied = is_copied(completion.text, completion.bank, settings.copied_share)
    if completion.mode == "experience" and p0 is not None and not copied:
        experience = settings.experience_bonus * (1.0 - p0)
    elif completion.mode == "guideline":
        guideline = _guideline("listed" if copied else novelty, settings)
    return Reward(True, 1.0, experience, guideline, long)


def _guideline(novelty: Novelty, settings: RewardSettings) -> float:
    if novelty == "novel":
        return settings.novelty_bonus
    if novelty != "unknown" and settings.listed_penalty is not None:
        # The total of a right answer becomes −δ. "Unused" and "unreadable" too: naming a strategy
        # and then going on with a listed one, or confusing the judge, would be ways around it.
        return -1.0 - settings.listed_penalty
    return 0.0


def paired_p0(modes: Sequence[Mode], correct: Sequence[bool]) -> float | None:
    """Give the pass rate of a paired group's half without the bank; None if it has no row.

    It is the policy's own rate while it trains; a recorded one grows stale.
    """
    without = [right for mode, right in zip(modes, correct, strict=True) if mode == "normal"]
    return sum(without) / len(without) if without else None


def overlong(tokens: int, max_tokens: int, buffer: int) -> float:
    """Give DAPO's soft penalty: 0 until `buffer` tokens before `max_tokens`, then down to −1."""
    if not max_tokens:
        return 0.0
    over = tokens - (max_tokens - buffer)
    if over <= 0:
        return 0.0
    return -min(over / buffer, 1.0) if buffer else -1.0
