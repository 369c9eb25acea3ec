"""The Summary agent: one short text out of the checks of a candidate."""

from collections.abc import Sequence

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Prompts
from tmas_graph.state import Problem, Verification

LONGEST_WORDS = 250
"""How long the agent is told that a summary may be."""


async def summarise(
    model: Model,
    prompts: Prompts,
    problem: Problem,
    solution: str,
    verifications: Sequence[Verification],
) -> Reply:
    """Condense the `verifications` that came through."""
    shown = Shown(verifications=tuple(v for v in verifications if v.analysis))
    asked = prompt(prompts, "summary", problem, shown, solution=solution, words=LONGEST_WORDS)
    return (await model(asked))[0]


def parse(reply: Reply) -> str:
    """The summary; nothing if the reply was cut, since half a finding may mislead."""
    return reply.text.strip() if reply.whole else ""
