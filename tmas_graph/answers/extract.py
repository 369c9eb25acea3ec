r"""Reads the final answer of a solution: the last box, else a stated final answer."""

import re

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_CUE = re.compile(
    r"(?:final answer|answer)\s*(?:is|:|=)\s*[:=]?\s*\**\s*(.+?)\s*\**\s*\.?\s*$", re.IGNORECASE
)


def last_boxed(text: str) -> str | None:
    r"""Content of the last `\boxed{…}` with balanced braces, or None."""
    for found in reversed(list(_BOX.finditer(text))):
        content = _balanced(text, found.end())
        if content is not None:
            return content
    return None


def answer_of(text: str) -> str | None:
    """The final answer that `text` states, or None.

    A box counts wherever it stands; without one, the last line that says "answer is" or "answer:".
    """
    boxed = last_boxed(text)
    if boxed is not None:
        return boxed.strip() or None
    for line in reversed(text.splitlines()[-5:]):
        if found := _CUE.search(line):
            return found.group(1).strip("$ ") or None
    return None


def _balanced(text: str, begin: int) -> str | None:
    depth = 0
    for i in range(begin, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            if depth == 0:
                return text[begin:i]
            depth -= 1
    return None
