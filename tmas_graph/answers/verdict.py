"""What a comparison of two answers says, and how it came to say it."""

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["correct", "incorrect", "unsure", "error"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One comparison's result; only `correct` accepts the prediction."""

    outcome: Outcome
    """`unsure` asks for a judge; `error` is a limit that was met, never a silent refusal."""
    cause: str
    """Why, in one clause."""
    steps: tuple[str, ...] = ()
    """What was done, in order, for people."""

    def after(self, *steps: str) -> "Verdict":
        """Put `steps` before the ones that are there."""
        return Verdict(self.outcome, self.cause, (*steps, *self.steps))


def correct(cause: str, *steps: str) -> Verdict:
    """Say that the two answers are the same."""
    return Verdict("correct", cause, steps)


def incorrect(cause: str, *steps: str) -> Verdict:
    """Say that the two answers are known to differ."""
    return Verdict("incorrect", cause, steps)


def unsure(cause: str, *steps: str) -> Verdict:
    """Say that rules can't tell."""
    return Verdict("unsure", cause, steps)


def error(cause: str, *steps: str) -> Verdict:
    """Say that a limit was met before the comparison was through."""
    return Verdict("error", cause, steps)
