"""How long replies are: in words that are sent, and in tokens of thinking that are only counted.

A reasoning model thinks ten times as long as its answer is. Thinking is never shown to anybody, so
that nothing is lost if its tokens are counted and not written; what a client or a checkpoint has
to carry, the words, is written.
"""

import random
from dataclasses import dataclass
from math import exp

from benchmarks.reasoner.play import CHECKING, SOLVING
from benchmarks.reasoner.solving import FILLER

_CHARACTERS_A_TOKEN = 4
_FILLER_WORDS = sum(len(sentence.split()) for sentence in FILLER) / len(FILLER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long replies are; each by a log-normal draw."""

    words: int = 0
    """Median words of a solution or check; 0: as many as it takes to say it."""
    solving: int = 8000
    """Median tokens of thinking before a solution."""
    checking: int = 4000
    """Before a check."""
    noting: int = 1500
    """Before anything else."""
    spread: float = 0.6
    """Standard deviation of the logarithm: 0.6 makes one in ten twice as long."""

    def thinking(self, task: str, rng: random.Random) -> int:
        """Tokens of thinking for one reply."""
        few = self.checking if task in CHECKING else self.noting
        return round((self.solving if task in SOLVING else few) * self._factor(rng))

    def padded(self, task: str, text: str, rng: random.Random) -> str:
        """`text` with sentences before it that say nothing, up to its length."""
        if not self.words or not (task in SOLVING or task in CHECKING) or _is_parsed_whole(task):
            return text
        missing = self.words * self._factor(rng) - len(text.split())
        count = max(0, round(missing / _FILLER_WORDS))
        return "".join(rng.choices(FILLER, k=count)) + ("\n\n" if count else "") + text

    def _factor(self, rng: random.Random) -> float:
        return exp(rng.gauss(0.0, self.spread))


def tokens(text: str) -> int:
    """About how many tokens a model's tokenizer makes of `text`."""
    return len(text) // _CHARACTERS_A_TOKEN + 1


def _is_parsed_whole(task: str) -> bool:
    return task == "write the next step"
