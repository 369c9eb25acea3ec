"""PaCoRe (parallel coordinated reasoning): rounds that each read what the round before concluded.

Paper: arXiv 2601.05593. Carried between iterations: what the candidates of the last round say after
their thinking, in an order of its own for each reader. Calls per problem: ΣK + 1, for rounds of K
candidates and the single one that answers.

Departures from the paper:
1. The rounds are [N] unless `rounds` says otherwise, as in [32, 4]; the last single one is added.
2. Only whole replies are shown; if a round has none, the one before is shown again.
3. What exceeds `rollouts_tokens` isn't shown: the last ones in the reader's order.
"""

from collections.abc import Sequence
from functools import partial

from tmas_graph.parts.combining import combine, draws, mode_after
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


async def pacore(run: Run) -> None:
    """Let each round read the one before, and a single candidate the last."""
    before: Sequence[Rollout] = ()
    for count in (*rounds(run.settings), 1):
        step, mode = partial(_candidate, run, before), mode_after(before)
        before = await run.round(step, count=count, mode=mode) or before


async def _candidate(run: Run, before: Sequence[Rollout], blank: Rollout) -> Rollout:
    return await combine(run, blank, draws(run, blank.index).sample(before, len(before)))


def rounds(settings: Settings) -> tuple[int, ...]:
    """Candidates of each round but the last."""
    return settings.methods.pacore.rounds or (settings.candidates,)


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    return sum(rounds(settings)) + 1


build = method(pacore, Rule("majority", "last"))
