"""The steps that candidates of every method go through: be written, be reviewed, be judged.

A step takes a candidate and gives it back with what was added; one that isn't open any more, since
its reply was cut, say, passes through unchanged. Calls that give no reply break the candidate off.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tmas_graph.agents import solution, verification
from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.errors import BudgetSpent, CallError
from tmas_graph.events import of_candidate
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import checkpointed
from tmas_graph.models.replies import Model, Reply, total
from tmas_graph.parts.run import Broken, Halted, Run
from tmas_graph.prompts import Prompt
from tmas_graph.rollout import stopped
from tmas_graph.settings import Role
from tmas_graph.state import Rollout, Verification
from tmas_graph.usage import Usage

_MOST_CANDIDATES = 1024
_BETWEEN = 1023
"""The turn of what is asked between rounds; candidates have those before."""


def model(run: Run, role: Role, index: int = 0, turn: int = 0) -> Model:
    """The model of `role` for candidate `index` of the iteration that runs.

    Each `turn` of a role with one candidate has draws of its own.
    """
    place = Place(run.problem.id, run.iteration, role, index + _MOST_CANDIDATES * turn)
    return checkpointed(run.settings.endpoint(role), run.settings.seed, place)


async def ask(
    run: Run, rollout: Rollout, role: Role, asked: Prompt, *, n: int = 1, turn: int = 0
) -> tuple[Rollout, list[Reply]]:
    """Ask `role` about `rollout`; the candidate charged with it, and the replies.

    Raises:
        Broken: no reply came, or the budget is spent.
    """
    try:
        replies = await model(run, role, rollout.index, turn)(asked, n=n)
    except (CallError, BudgetSpent) as error:
        raise Broken(stopped(rollout, role, error)) from error
    return rollout.charged(role, total(replies)), replies


async def ask_each(
    run: Run, rollout: Rollout, role: Role, asked: Sequence[Prompt]
) -> tuple[Rollout, list[Reply]]:
    """Ask `role` several things about `rollout` at once, in turns from 1 on; as `ask`.

    Raises:
        Broken: one of them got no reply, or the budget is spent.
    """
    models = [model(run, role, rollout.index, turn) for turn in range(1, len(asked) + 1)]
    made = zip(models, asked, strict=True)
    came = await asyncio.gather(*(each(what) for each, what in made), return_exceptions=True)
    replies = [replies[0] for replies in came if not isinstance(replies, BaseException)]
    rollout = rollout.charged(role, total(replies))
    for error in came:
        if isinstance(error, CallError | BudgetSpent):
            raise Broken(stopped(rollout, role, error)) from error
        if isinstance(error, BaseException):
            raise error
    return rollout, replies


async def distil(
    run: Run, role: Role, template: str, shown: Shown | None = None, **values: object
) -> Reply:
    """Ask once between two rounds, for no single candidate: to condense what there is, say.

    Raises:
        Halted: the budget is spent.
        CallError: no reply came; run again, it goes on from here.
    """
    asked = prompt(run.prompts, template, run.problem, shown, **values)
    try:
        [reply] = await model(run, role, turn=_BETWEEN)(asked)
    except BudgetSpent as error:
        raise Halted from error
    run.aside[role] = run.aside.get(role, Usage()) + reply.usage
    return reply


async def write(
    run: Run,
    rollout: Rollout,
    template: str = "solution_initial",
    shown: Shown | None = None,
    *,
    given: Mapping[str, object] | None = None,
    role: Role = "solution",
    turn: int = 0,
) -> Rollout:
    """Write the candidate's text, or its next version, as `template`, with what is `given`, asks.

    A version that didn't come whole takes nothing from the one before: that stays.
    """
    if rollout.outcome != "open":
        return rollout
    asked = prompt(run.prompts, template, run.problem, shown, **(given or {}))
    rollout, replies = await ask(run, rollout, role, asked, turn=turn)
    new = solution.written(replace(rollout, verifications=()), replies[0], run.problem)
    if new.outcome != "open" and rollout.solution:
        return rollout
    run.tell(of_candidate("candidate", new))
    return new


async def review(run: Run, rollout: Rollout, *, passes: int | None = None) -> Rollout:
    """Check the candidate M times (or `passes` times); its score is the mean of what was read."""
    if rollout.outcome != "open":
        return rollout
    passes = passes or run.settings.verifications
    asked = prompt(run.prompts, "verification", run.problem, solution=rollout.solution)
    rollout, replies = await ask(run, rollout, "verification", asked, n=passes)
    checked = replace(rollout, verifications=verification.parsed(replies, passes))
    run.tell(of_candidate("candidate", checked))
    return checked


def bare(rollout: Rollout) -> Rollout:
    """The candidate without what its checks say, which only few methods show to anybody."""
    scores = tuple(Verification("", v.score) for v in rollout.verifications)
    return replace(rollout, verifications=scores)
