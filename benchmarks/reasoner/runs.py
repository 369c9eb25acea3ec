"""Runs of a method on problems of the synthetic reasoner, in memory, and how they went."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.reasoner.direct import Direct, Reasoner
from benchmarks.reasoner.world import question, world
from tmas_graph.memory import opening
from tmas_graph.methods import find
from tmas_graph.models.budget import Budget
from tmas_graph.models.checkpointed import BUDGET, CONNECT
from tmas_graph.parts.method import Workflow
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


@dataclass(frozen=True, slots=True)
class Ballot:
    """A candidate's answer, as far as a rule of choosing asks for it."""

    iteration: int
    index: int
    answer: str | None
    score: float | None


@dataclass(frozen=True, slots=True)
class Made:
    """A run."""

    points: tuple[Point, ...]
    """One an iteration."""
    ballots: tuple[Ballot, ...]


def made_of(row: Mapping[str, Any]) -> Made:
    """The run that `asdict` made `row` of."""
    points = tuple(Point(**point) for point in row["points"])
    return Made(points, tuple(Ballot(**ballot) for ballot in row["ballots"]))


async def solved(number: int, method: str, settings: Settings, reasoner: Reasoner) -> Made:
    """Solve problem `number` by `method`.

    Raises:
        UnknownPrompt: the method asks for something that the reasoner doesn't know.
    """
    code, text = question(number)
    settings = find(method).applied(settings)
    place = {BUDGET: Budget.of(settings), CONNECT: Direct(reasoner).connect}
    problem = Problem(text, f"p{number}")
    async with opening.held(settings, problem.id):
        result = await follow(
            _built(method), {"problem": problem}, {"configurable": place}, settings
        )
    gold = str(world(code, reasoner.player.skill.nature).answer)
    ballots = (Ballot(a.iteration, a.index, a.answer, a.score) for a in result.attempts)
    return Made(tuple(points(result, gold)), tuple(ballots))


@cache
def _built(method: str) -> Workflow:
    # To compile the graph takes as long as six calls.
    return find(method).build()


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
