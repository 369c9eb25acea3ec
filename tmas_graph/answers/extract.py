r"""Reads the final answer of a solution: the last box, else a stated final answer."""

import re
from typing import NamedTuple

_BRACE = re.compile(r"(?P<box>\\(?:boxed|fbox)\s*\{)|(?P<escaped>\\[{}\\])|(?P<open>\{)|\}")
_CUE = re.compile(r"answer\s*(?:is|:|=)\s*[:=]?(.+)$", re.IGNORECASE)


class Box(NamedTuple):
    r"""A `\boxed{…}`: what it holds, and where it begins and ends in the text."""

    content: str
    begin: int
    end: int


def last_box(text: str) -> Box | None:
    r"""The last `\boxed{…}` with balanced braces, or None."""
    last: Box | None = None
    opened: list[re.Match[str]] = []
    for found in _BRACE.finditer(text):
        if found["box"] or found["open"]:
            opened.append(found)
        elif not found["escaped"] and opened:
            start = opened.pop()
            if start["box"] and (last is None or start.start() > last.begin):
                last = Box(text[start.end() : found.start()], start.start(), found.end())
    return last


def last_boxed(text: str) -> str | None:
    r"""Content of the last `\boxed{…}` with balanced braces, or None."""
    box = last_box(text)
    return box.content if box else None


def answer_of(text: str) -> str | None:
    """The final answer that `text` states, or None.

    A box counts wherever it stands; without one, the last line that says "answer is" or "answer:".
    """
    boxed = last_boxed(text)
    if boxed is not None:
        return boxed.strip() or None
    for line in reversed(text.splitlines()[-5:]):
        if found := _CUE.search(line):
            return found.group(1).strip().removesuffix(".").strip("*$ ") or None
    return None
