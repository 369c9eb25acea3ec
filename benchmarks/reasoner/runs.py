"""Runs of a method on problems of the synthetic reasoner, in memory, and how they went."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.reasoner.direct import Direct, Reasoner
from benchmarks.reasoner.world import question, world
from tmas_graph.memory import opening
from tmas_graph.methods import find
from tmas_graph.models.budget import Budget
from tmas_graph.models.checkpointed import BUDGET, CONNECT
from tmas_graph.running import follow
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, Result


@dataclass(frozen=True, slots=True)
class Point:
    """How a run stood after one iteration."""

    right: float
    """Share of the iteration's candidates that are right: what Pass@1 is the mean of."""
    selected: float
    """1 if the answer that it would give then is right."""
    tokens: int
    """Spent up to then, prompts and thinking included."""
    calls: int


async def solved(number: int, method: str, settings: Settings, reasoner: Reasoner) -> list[Point]:
    """Solve problem `number` by `method`; a point for each iteration.

    Raises:
        UnknownPrompt: the method asks for something that the reasoner doesn't know.
    """
    code, text = question(number)
    found = find(method)
    settings = found.applied(settings)
    place = {BUDGET: Budget.of(settings), CONNECT: Direct(reasoner).connect}
    problem = Problem(text, f"p{number}")
    async with opening.held(settings):
        result = await follow(
            found.build(), {"problem": problem}, {"configurable": place}, settings
        )
    return points(result, str(world(code, reasoner.player.skill.nature).answer))


def points(result: Result, gold: str) -> list[Point]:
    """A point for each iteration of a run; who gave no answer was wrong."""
    made: list[Point] = []
    for standing in result.standings:
        t = standing.iteration
        answers = [a.answer for a in result.attempts if a.iteration == t]
        spent = [row.usage for row in result.spend if row.iteration <= t]
        made.append(
            Point(
                right=sum(answer == gold for answer in answers) / max(1, len(answers)),
                selected=float(standing.answer == gold),
                tokens=sum(usage.tokens for usage in spent),
                calls=sum(usage.calls for usage in spent),
            )
        )
    return made


def mean(values: Sequence[float]) -> float:
    """Their mean."""
    return sum(values) / len(values)
