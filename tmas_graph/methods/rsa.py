"""RSA (recursive self-aggregation, arXiv 2509.26626): a population, renewed by aggregation.

Carried between iterations: the population of N candidates. Each of the next N aggregates K of them,
drawn at random. Calls per problem: N·T. The answer is that of most in the last population.

Departures from the paper:
1. N and T are the settings', not 16 and 10; the temperature is the endpoint's.
2. Only whole replies enter the population; if none came, the one before stays.
3. The paper measures the mean of the last population. With `choose = "mean"` one of its members
   answers, whose chance to be right is that mean: the first, for their draws are alike.
4. What exceeds `rollouts_tokens` isn't shown.
"""

from collections.abc import Sequence
from functools import partial

from tmas_graph.parts.combining import combine, draws, mode_after
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


async def rsa(run: Run) -> None:
    """Renew the population T − 1 times."""
    population: Sequence[Rollout] = ()
    for _ in range(run.settings.iterations):
        step, mode = partial(_candidate, run, population), mode_after(population)
        population = await run.round(step, mode=mode) or population


async def _candidate(run: Run, population: Sequence[Rollout], blank: Rollout) -> Rollout:
    shown = min(run.settings.methods.rsa.aggregated, len(population))
    return await combine(run, blank, draws(run, blank.index).sample(population, shown))


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    return settings.candidates * settings.iterations


def _rule(settings: Settings) -> Rule:
    mean = settings.methods.rsa.choose == "mean"
    return Rule("majority", "first" if mean else "last")


build = method(rsa, _rule)
