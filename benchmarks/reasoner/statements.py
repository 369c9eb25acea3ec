r"""What a text says to a reader: values, approaches, answers, and what checks find.

A language model understands any wording; the synthetic one, statements like "c_{3} = 17" wherever
they stand, approaches by their names, and the usual words for "this is wrong".
"""

import re
from dataclasses import dataclass

from benchmarks.reasoner.world import NAMES

Claim = tuple[str, int]
"""A value's name, and what it is said to be."""
LOST = "can't reach the goal"
"""How the reasoner says that an approach is a dead end."""

_STATES = r"(?:=|equals|is equal to|is|:)"
_VALUE = re.compile(rf"\$?\b([a-z]\d*)_\{{?(\d+)\}}?\$?\s*{_STATES}\s*\$?(\d+)\b")
_DENIES = re.compile(
    r"not true|(?:is|are) wrong|fails|isn't|is not|don't|doesn't|avoid|≠|mistake|refuted|instead of"
)
_BOXED = re.compile(r"\\boxed\{(\d+)\}")
_NAMED = re.compile("|".join(re.escape(name) for name in sorted(NAMES, key=len, reverse=True)))
_SENTENCE = re.compile(r"(?<=[.;])\s+")


def claims(text: str) -> list[Claim]:
    """Every "name = value" in `text`, in order."""
    return [(f"{m[1]}_{{{m[2]}}}", int(m[3])) for m in _VALUE.finditer(text)]


def denies(text: str) -> bool:
    """Whether `text` says that something is wrong."""
    return _DENIES.search(text) is not None


def strategy_of(text: str) -> str | None:
    """The approach that `text` names first."""
    found = _NAMED.search(text)
    return found[0] if found else None


def answer_of(text: str) -> int | None:
    """The last boxed number."""
    boxed = _BOXED.findall(text)
    return int(boxed[-1]) if boxed else None


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check, or a summary of checks, says; each claim once, in order."""

    confirmed: tuple[Claim, ...] = ()
    doubted: tuple[Claim, ...] = ()
    corrections: tuple[Claim, ...] = ()
    """What holds in place of what is doubted."""
    hopeless: bool = False
    """Whether the approach is said to be a dead end."""


def finding(text: str) -> Finding:
    """What `text` finds of a solution."""
    confirmed, doubted, instead = dict[Claim, None](), dict[Claim, None](), dict[Claim, None]()
    for sentence in _SENTENCE.split(text):
        if not (found := claims(sentence)):
            continue
        if denies(sentence):
            doubted[found[0]] = None
            instead |= dict.fromkeys(c for c in found[1:] if c[0] == found[0][0])
        else:
            confirmed |= dict.fromkeys(found)
    return Finding(tuple(confirmed), tuple(doubted), tuple(instead), LOST in text)
