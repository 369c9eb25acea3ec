r"""Plain ways to grade and compare, for a trainer that runs without the rest of the package.

`tmas train run` puts the package's grader and judge in their place. Here an answer is right if the
last `\boxed{}` of a completion is the reference, blanks and a final full stop aside: 1/2 and 0.5
are two answers. What is compared as numbers or formulas needs the other grader.
"""

import re

from tmas_graph.grpo.hacks import final_text

_OPENING = re.compile(r"\\f?box(?:ed)?\s*\{")
_WORD = re.compile(r"\w+")
_SHORT = 3
"""Words of so few letters say nothing about a strategy."""


def boxed_match(text: str, gold: str) -> bool:
    """Is the last boxed answer of `text` the reference, letter by letter but for blanks?"""
    answer = last_boxed(final_text(text))
    return answer is not None and _plain(answer) == _plain(last_boxed(gold) or gold)


def last_boxed(text: str) -> str | None:
    """Give the content of the last box; None without one, or if it doesn't end."""
    found = list(_OPENING.finditer(text))
    if not found:
        return None
    depth, begin = 1, found[-1].end()
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begin:at]
    return None


def shared_words(solution: str, strategy: str) -> float:
    """Give the share of the words of `strategy` that stand in `solution`, up to their endings."""
    wanted = {word for word in _words(strategy) if len(word) > _SHORT}
    if not wanted:
        return 0.0
    stems = {_stem(word) for word in _words(solution)}
    return sum(_stem(word) in stems for word in wanted) / len(wanted)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stem(word: str) -> str:
    return word[: max(4, len(word) - 3)]


def _plain(answer: str) -> str:
    return "".join(answer.split()).strip("$").removesuffix(".")
