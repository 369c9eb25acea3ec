"""The Verification agent: M independent checks of one candidate."""

import re
from collections.abc import Sequence

from tmas_graph.answers.extract import last_boxed
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Verification

_SCORES = {
    "1": 1.0,
    "1.0": 1.0,
    "0.5": 0.5,
    ".5": 0.5,
    "1/2": 0.5,
    r"\frac{1}{2}": 0.5,
    "0": 0.0,
    "0.0": 0.0,
}
_WRAPPED = re.compile(r"^\\(?:text|mathbf|textbf|mathrm)\{(.*)\}$")
_LABEL = re.compile(r"^(?:final\s+)?score\s*[:=]\s*", re.IGNORECASE)
_STATED = re.compile(r"\bscore\b[^0-9.\n]{0,20}([01](?:\.[05])?|\.5|1/2)\W*$", re.IGNORECASE)
_LONGEST_TAIL = 120
"""Characters that may follow the box; a box further from the end is one that was quoted."""


async def verify(
    model: Model, prompts: Prompts, problem: Problem, solution: str, *, passes: int
) -> list[Reply]:
    """Check `solution` in `passes` independent replies; fewer if the endpoint gave fewer."""
    messages = prompts.render(
        "verification", problem=problem.question, kind=problem.kind, solution=solution
    )
    return await model(messages, n=passes)


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
    boxed = last_boxed(text)
    if boxed is None:
        stated = _STATED.search(text.rstrip()[-_LONGEST_TAIL:])
        return _SCORES.get(stated.group(1)) if stated else None
    if len(text.rstrip()) - text.rfind(boxed) - len(boxed) > _LONGEST_TAIL:
        return None
    content = boxed.strip().strip("$").strip()
    while wrapped := _WRAPPED.match(content):
        content = wrapped.group(1).strip()
    return _SCORES.get(_LABEL.sub("", content).replace(r"\dfrac", r"\frac").replace(" ", ""))
