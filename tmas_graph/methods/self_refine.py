"""Self-refine (Madaan et al., arXiv 2303.17651): write, criticise, rewrite.

Carried between iterations: each chain's last version with its critique. Calls per problem:
N chains of 1 + 2(T − 1), or 2T if the best version is chosen. The answer is that of the last
version; of several chains, the one that most last versions give.

Departures from the paper:
1. A critique is a check that ends in a score. A chain stops on the score 1, and on no words;
   `stop_by_substring` brings the published test back, for which "I doubt it is correct" is a yes.
2. The paper allows 4 versions; here T.
3. With `choose = "best"` the version with the best score is taken, not the last one.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from tmas_graph.agents.fitting import Shown
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import review, write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout, Stop

_PUBLISHED_TEST = "it is correct"


async def self_refine(run: Run) -> Stop | None:
    """Let N chains run side by side until all are content with their version."""
    chains: dict[int, Rollout] = {}
    for t in range(run.settings.iterations):
        last = t + 1 == run.settings.iterations
        criticised = not last or run.settings.methods.self_refine.choose == "best"
        step = partial(_candidate, run, chains, criticised)
        through = await run.round(step, depth=1 + criticised)
        chains |= {version.index: version for version in through}
        if through and all(is_content(run, version) for version in chains.values()):
            return "confident"
    return None


async def _candidate(
    run: Run, chains: Mapping[int, Rollout], criticised: bool, blank: Rollout
) -> Rollout:
    before = chains.get(blank.index)
    if before and is_content(run, before):
        return replace(before, iteration=blank.iteration, usage={}, outcome="open")
    version = await _version(run, blank, before)
    return await review(run, version, passes=1) if criticised else version


async def _version(run: Run, blank: Rollout, before: Rollout | None) -> Rollout:
    if before is None:
        return await write(run, blank)
    shown = Shown(verifications=before.verifications)
    given = {"solution": before.solution, "self_graded": False}
    return await write(run, blank, "methods/refine", shown, given=given)


def is_content(run: Run, version: Rollout) -> bool:
    """Whether the critique of `version` asks for no other one."""
    if run.settings.methods.self_refine.stop_by_substring:
        return any(_PUBLISHED_TEST in v.analysis.lower() for v in version.verifications)
    return version.score == 1


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    last = 1 if settings.methods.self_refine.choose == "last" else 2
    return settings.candidates * (2 * (settings.iterations - 1) + last)


def _rule(settings: Settings) -> Rule:
    best = settings.methods.self_refine.choose == "best"
    return Rule("best", "all") if best else Rule("majority", "last")


build = method(self_refine, _rule)
