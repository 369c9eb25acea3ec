"""What methods share that let candidates draw on others: whom they see, and by which chance."""

import random
from collections.abc import Sequence

from tmas_graph.agents import solution
from tmas_graph.agents.fitting import Shown
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import write
from tmas_graph.state import Mode, Rollout, digest

LONGEST_NOTES = 500
"""Words that notes on several solutions are told to have at most."""


def mode_after(before: Sequence[object]) -> Mode:
    """How candidates are written who see what came `before`, if there is anything."""
    return "exploit" if before else "initial"


def draws(run: Run, index: int = 0) -> random.Random:
    """Random numbers for candidate `index` of the iteration: the same on every machine."""
    place = (str(run.settings.seed), run.problem.id, str(run.iteration), str(index))
    return random.Random(digest(*place))


def seen(run: Run, others: Sequence[Rollout]) -> Shown:
    """`others` as a prompt shows them: the first that fit into `rollouts_tokens`, in order."""
    return Shown(rollouts=solution.shown(others, run.settings.rollouts_tokens))


async def combine(run: Run, blank: Rollout, others: Sequence[Rollout]) -> Rollout:
    """Write a candidate that draws on `others`; of the problem alone if there are none."""
    if not others:
        return await write(run, blank)
    return await write(run, blank, "methods/combine", seen(run, others))
