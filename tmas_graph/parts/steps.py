"""The steps that candidates of every method go through: be written, be reviewed, be judged.

A step takes a candidate and gives it back with what was added; one that isn't open any more, since
its reply was cut, say, passes through unchanged. Calls that give no reply break the candidate off.
"""

from dataclasses import replace

from tmas_graph.agents import solution, verification
from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.errors import BudgetSpent, CallError
from tmas_graph.events import of_candidate
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import checkpointed
from tmas_graph.models.replies import Model, Reply, total
from tmas_graph.parts.run import Broken, Run
from tmas_graph.prompts import Prompt
from tmas_graph.rollout import stopped
from tmas_graph.settings import Role
from tmas_graph.state import Rollout, Verification

_MOST_CANDIDATES = 1024


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


async def write(
    run: Run,
    rollout: Rollout,
    template: str = "solution_initial",
    shown: Shown | None = None,
    *,
    role: Role = "solution",
    turn: int = 0,
    **values: object,
) -> Rollout:
    """Write the candidate's text, or its next version, as `template` asks.

    A version that didn't come whole takes nothing from the one before: that stays.
    """
    if rollout.outcome != "open":
        return rollout
    asked = prompt(run.prompts, template, run.problem, shown, **values)
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
