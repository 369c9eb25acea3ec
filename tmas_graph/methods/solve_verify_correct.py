"""Solve, verify, correct: the loop of IMO25 (Huang & Yang, arXiv 2507.15855) and of MarsRL.

Carried between iterations: one solution and the last bug report. An iteration is one check, and a
correction before it where the last check failed. `accept` passes in a row accept the solution, and
`reject` failures in a row give it up. Calls per problem: 1 or 2 to begin with, 1 check, then at
most 2 for each further one. The answer is that of the last version.

The solver is the role `solution`, the verifier `verification`, the corrector `summary`: each can
have a model of its own. MarsRL (arXiv 2511.11373) trains one for each; its preset accepts at 4
passes, has at most 10 iterations and no improvement before the first check.

Departures from the papers:
1. The verdict is the score that ends a check, not a second call that asks for yes or no: 1 passes,
   0.5 and 0 fail, and one that can't be read does neither.
2. A version that didn't come whole is no version: the one before is checked again.
3. N isn't used: one solution is worked on.
"""

from dataclasses import replace
from functools import partial

from tmas_graph.agents.fitting import Shown
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import review, write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout, Stop


async def solve_verify_correct(run: Run) -> Stop | None:
    """Work on one solution until it is accepted or given up."""
    own, passes, fails = run.settings.methods.solve_verify_correct, 0, 0
    before: Rollout | None = None
    for _ in range(own.rounds):
        depth = 1 + _failed(before) if before else 2 + own.improve
        through = await run.round(partial(_candidate, run, before), count=1, depth=depth)
        before = through[0] if through else before
        if not through or before is None or before.score is None:
            continue
        passes, fails = (passes + 1, 0) if before.score == 1 else (0, fails + 1)
        if passes >= own.accept:
            return "confident"
        if fails >= own.reject:
            return None
    return None


async def _candidate(run: Run, before: Rollout | None, blank: Rollout) -> Rollout:
    return await review(run, await _version(run, blank, before), passes=1)


async def _version(run: Run, blank: Rollout, before: Rollout | None) -> Rollout:
    if before is None:
        first = await write(run, blank)
        if not run.settings.methods.solve_verify_correct.improve:
            return first
        return await write(
            run, first, "methods/improve", turn=1, given={"solution": first.solution}
        )
    same = replace(before, iteration=blank.iteration, usage={}, outcome="open")
    if not _failed(before):
        return replace(same, verifications=())
    shown = Shown(verifications=before.verifications)
    given = {"solution": before.solution, "self_graded": False}
    return await write(run, same, "methods/refine", shown, role="summary", given=given)


def _failed(version: Rollout | None) -> bool:
    return version is not None and version.score is not None and version.score < 1


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    own = settings.methods.solve_verify_correct
    return 2 + own.improve + 2 * (own.rounds - 1)


build = method(solve_verify_correct, Rule("majority", "last"))
