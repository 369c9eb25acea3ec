r"""Recognises completions that go for the reward without doing what it is for.

All of it looks at the text alone and is meant to be cheap and predictable; whether a strategy is
truly carried out is a judge's question, see novelty.py. What isn't covered: an answer that the
bank gives away and the completion repeats in its own words. That is what a bank is for.
"""

import re
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"\w+")
_RUN = 8
"""Words in a row that are the same in bank and completion: a copy, not a coincidence."""
_BETWEEN_BOXES = re.compile(r"[\s$,;.*()\[\]\\]*(?:and|or)?[\s$,;.*()\[\]\\]*")
_NAMED = re.compile(
    r"^\W*(?:strategy|approach|method|idea)\W*[:–—]\s*(?P<name>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_COMMON = frozenset(
    "a an and by for from in is it of on or that the then this to use using we with".split()  # noqa: SIM905
)


def final_text(text: str) -> str:
    """Give what follows the thinking, without blanks around it; empty if thinking never ends."""
    _, closing, spoken = text.rpartition("</think>")
    if not closing and text.lstrip().startswith("<think>"):
        return ""
    return spoken.strip()


def is_hedged(text: str) -> bool:
    r"""Does `text` box different answers in different places?

    Boxes that follow one another as a list are one answer; the grader sees them together.
    """
    boxes = list(_boxes(text))
    if not boxes:
        return False
    first = len(boxes) - 1
    while first and _BETWEEN_BOXES.fullmatch(text[boxes[first - 1][1] : boxes[first][0]]):
        first -= 1
    answers = {content for _, _, content in boxes[first:]}
    return any(content not in answers for _, _, content in boxes[:first])


def _boxes(text: str) -> Iterator[tuple[int, int, str]]:
    """Begin, end and content (without blanks) of each box that isn't empty or cut off."""
    end = 0
    for opening in re.finditer(r"\\f?box(?:ed)?\s*\{", text):
        if opening.start() < end:
            continue
        depth, at = 1, opening.end()
        while at < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        content = "".join(text[opening.end() : at - 1].split())
        if not depth and content:
            end = at
            yield opening.start(), end, content


def is_copied(text: str, bank: Sequence[str], share: float) -> bool:
    """Are `share` or more of the words of `text` copied from `bank`, eight in a row or more?"""
    words = _words(text)
    known = {run for item in bank for run in _runs(_words(item))}
    copied = set[int]()
    for at, run in enumerate(_runs(words)):
        if run in known:
            copied.update(range(at, at + _RUN))
    return bool(words) and len(copied) >= share * len(words) and bool(copied)


def names_without_use(text: str) -> bool:
    """Does `text` announce strategies of whose words nothing comes back in the rest of it?

    An announcement is a line such as `Strategy: generating functions`. Used is a strategy if at
    least half of its words of content stand elsewhere too; a judge may see it otherwise.
    """
    names = [match["name"] for match in _NAMED.finditer(text)]
    rest = set(_words(_NAMED.sub("\n", text)))
    return any(not _traced(_words(name), rest) for name in names)


def _traced(name: Sequence[str], rest: set[str]) -> bool:
    content = {word for word in name if word not in _COMMON}
    found = sum(any(_alike(word, other) for other in rest) for word in content)
    return bool(content) and 2 * found >= len(content)


def _alike(one: str, other: str) -> bool:
    """The same word, up to its ending: function, functions."""
    stem = max(4, len(one) - 3)
    return one == other or (len(one) > 4 and other.startswith(one[:stem]))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _runs(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for at in range(len(words) - _RUN + 1):
        yield tuple(words[at : at + _RUN])
