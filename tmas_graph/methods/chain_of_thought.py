"""Chain of thought (Wei et al., arXiv 2201.11903): one solution, step by step.

Carried between iterations: nothing. Calls per problem: 1.
"""

from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


async def chain_of_thought(run: Run) -> None:
    """Write one solution."""

    async def candidate(blank: Rollout) -> Rollout:
        return await write(run, blank)

    await run.round(candidate, count=1)


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    return 1


build = method(chain_of_thought, Rule("majority"))
