"""Best-of-N with a judge (Cobbe et al., arXiv 2110.14168): N solutions, M checks each.

Carried between iterations: nothing. Calls per problem: N(1 + M). The answer is that of the highest
mean score; or, with `methods.best_of_n.choose = "weighted"`, the one whose equal answers have the
highest sum.

Departures from the paper:
1. The judge is a model that is asked M times, not a trained verifier.
2. A check without a readable score isn't a 0: the mean is over those that could be read, and
   unknown if they are fewer than half.
"""

from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import bare, review, write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


async def best_of_n(run: Run) -> None:
    """Write N solutions and check each M times."""

    async def candidate(blank: Rollout) -> Rollout:
        return bare(await review(run, await write(run, blank)))

    await run.round(candidate, depth=2)


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    return settings.candidates * (1 + settings.verifications)


def _rule(settings: Settings) -> Rule:
    return Rule(settings.methods.best_of_n.choose)


build = method(best_of_n, _rule)
