"""Self-consistency (Wang et al., arXiv 2203.11171): N solutions, and the answer most of them give.

Carried between iterations: nothing. Calls per problem: N.

Departures from the paper:
1. Answers are counted by equivalence, not by their spelling.
2. A candidate without an answer doesn't vote; two of them don't agree.
"""

from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


async def self_consistency(run: Run) -> None:
    """Write N solutions, each on its own."""

    async def candidate(blank: Rollout) -> Rollout:
        return await write(run, blank)

    await run.round(candidate)


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    return settings.candidates


build = method(self_consistency, Rule("majority"))
