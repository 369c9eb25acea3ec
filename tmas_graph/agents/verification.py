"""The Verification agent: M independent checks of one candidate."""

import re
from collections.abc import Sequence

from tmas_graph.agents.fitting import prompt
from tmas_graph.answers.extract import Box, last_box
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Verification

_SCORES = {"1": 1.0, "0.5": 0.5, ".5": 0.5, "1/2": 0.5, "0": 0.0}
_HALF = re.compile(r"\\[dt]?frac(?:\{1\}|1)(?:\{2\}|2)")
_ZEROS = re.compile(r"(?<=\d)\.0*$|(?<=\.5)0+$")
_WRAPPED = re.compile(r"^\\(?:text|mathbf|textbf|mathrm|boxed|fbox)\{(.*)\}$")
_LABEL = re.compile(r"^(?:final\s+)?score\s*[:=]\s*", re.IGNORECASE)
_STATED = re.compile(
    r"\bscore\b[\s*_:=`$(]*(?:(?:is|of)\b[\s*_:=`$(]*)?([01](?:\.\d+)?|\.5|1/2)[\s*_`$).]*$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"score|grade|rating|verdict|evaluation|assessment|judg", re.IGNORECASE)
_QUOTING = re.compile(
    r"answer|result|claim|conclu|state|says|wr[io]te|gives|gets|obtain|ends|equal|[=≠]\s*\$*$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?]\W*\s|\n")
_LONGEST_TAIL = 120
"""Characters that may follow the box; a box further from the end is one that was quoted."""


async def verify(
    model: Model, prompts: Prompts, problem: Problem, solution: str, *, passes: int
) -> list[Reply]:
    """Check `solution` in `passes` independent replies; fewer if the endpoint gave fewer."""
    return await model(prompt(prompts, "verification", problem, solution=solution), n=passes)


def parsed(replies: Sequence[Reply], passes: int) -> tuple[Verification, ...]:
    """One verification per pass; one whose reply is missing or unreadable has no score."""
    read = tuple(map(parse, replies[:passes]))
    return read + (Verification("", None),) * (passes - len(read))


def parse(reply: Reply) -> Verification:
    r"""Read the score from the `\boxed{}` at the end of a reply; a truncated one has none."""
    if not reply.whole:
        return Verification("", None)
    return Verification(reply.text, score_of(reply.text))


def score_of(text: str) -> float | None:
    """The score that `text` ends in, or None: what can't be read is unknown, never a guess."""
    text = text.rstrip()
    box = last_box(text)
    if stated := _STATED.search(text, max(box.end if box else 0, len(text) - _LONGEST_TAIL)):
        return _score(stated.group(1))
    return _score(box.content) if box and _is_verdict(text, box) else None


def _is_verdict(text: str, box: Box) -> bool:
    """Whether a box is the reply's own score, not one that it quotes from the solution."""
    if len(text) - box.end > _LONGEST_TAIL:
        return False
    before = _SENTENCE.split(text[max(0, box.begin - _LONGEST_TAIL) : box.begin])[-1]
    after = text[box.end :].partition("\n")[0]
    quoted = _QUOTING.search(before) or re.search(r"\w", after)
    return not quoted or _NAMED.search(before) is not None


def _score(text: str) -> float | None:
    content = text.strip("$*` ")
    while wrapped := _WRAPPED.match(content):
        content = wrapped.group(1).strip()
    content = _HALF.sub("1/2", _LABEL.sub("", content)).replace(" ", "")
    return _SCORES.get(_ZEROS.sub("", content.removesuffix("/1")))
