"""What the summaries of attempts point at, sentence by sentence: each is asked for on its own.

One vector of everything that was said is near to nothing in particular. No language is read:
a few words tell which sentences name what is wrong, and where none does, all of them count.
"""

import re
from collections.abc import Iterable

MOST = 64
"""Sentences asked for; each may cost a call of an embedding server."""
LONGEST = 1000
"""Characters of one; embedding models take so many at least."""

_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|[\r\n]+")  # noqa: RUF001
_WRONG = re.compile(
    r"wrong|incorrect|error|mistake|flaw|fault|fals|invalid|fail|\bgap|missing|overlook|forg[eo]t"
    r"|unjustif|unprove|unsound|unsupport|contradict|doesn't|does not|not (?:hold|true|follow)"
    r"|without (?:proof|reason|justif)|lacks?\b|falsch|fehl|faux|fausse|erreur|错|誤|不成立|ошиб",
    re.IGNORECASE,
)
_NONE_WRONG = re.compile(
    r"\b(?:no|without|any)\s+(?:\w+\s+)?(?:error|mistake|flaw|fault|gap)s?\b|\bnothing is wrong\b",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences and lines of any text, cut to what can be asked for."""
    return [part.strip()[:LONGEST] for part in _END.split(text) if part.strip()]


def flaws(summaries: Iterable[str]) -> list[str]:
    """The sentences that name what is wrong, summary by summary; one that names nothing, whole."""
    found: list[str] = []
    for summary in summaries:
        said = [s for s in sentences(summary) if _WRONG.search(_NONE_WRONG.sub("", s))]
        found += said or ([summary.strip()[:LONGEST]] if summary.strip() else [])
    return list(dict.fromkeys(found))[:MOST]


def findings(summaries: Iterable[str]) -> list[str]:
    """All sentences, those that confirm something too: what they are about can be judged."""
    found = [sentence for summary in summaries for sentence in sentences(summary)]
    return list(dict.fromkeys(found))[:MOST]
