"""The synthetic reasoner: a reply to any prompt of ours, which follows from it and a seed."""

import random
import re
from collections.abc import Callable, Mapping

from benchmarks.reasoner import checking, noting, reading, small_set
from benchmarks.reasoner.reading import Read
from benchmarks.reasoner.skill import Skill
from benchmarks.reasoner.solving import Solver
from benchmarks.reasoner.world import world

Play = Callable[[Solver, Read], str]
_COUNT = re.compile(r"^pick the \d+ best candidates$")
_PICK = "pick the best candidates"

SOLVING: Mapping[str, Play] = {
    "solve the problem": Solver.initial,
    "improve on the earlier attempts": Solver.from_attempts,
    "solve the problem in a new way": Solver.explore,
    "combine the candidate solutions": Solver.from_attempts,
    "reconsider your answer": Solver.reconsider,
    "solve the problem with what is known of it": Solver.from_attempts,
    "improve your solution": Solver.improve,
    "solve it again with the notes": Solver.from_notes,
    "repair the proposed solution": Solver.from_reviews,
    "solve the problem, then grade your solution": Solver.self_graded,
    "write the next step": Solver.next_step,
}
"""What it can be asked to write, by how prompts ask for it."""
CHECKING: Mapping[str, Play] = {
    "check the proposed solution": checking.verify,
    "audit the review": checking.audit,
    "value the steps so far": checking.value,
    _PICK: checking.pick,
    "are they the same answer?": checking.judge,
}
NOTING: Mapping[str, Play] = {
    "summarise the checks": checking.summarise,
    "note what the next attempts can reuse": noting.extract,
    "list the strategies that were tried": noting.name,
    "distil the attempt": noting.distil,
    "condense the candidate solutions": noting.condense,
}
_ALL = {**SOLVING, **CHECKING, **NOTING}


class UnknownPrompt(ValueError):
    """A prompt that asks for nothing that the reasoner knows, or about no problem of its."""


def task_of(seen: Read) -> str:
    """What a prompt asks for, as a key of the tables above.

    Raises:
        UnknownPrompt: it asks for something else.
    """
    task = _PICK if _COUNT.match(seen.task) else seen.task
    if task not in _ALL:
        raise UnknownPrompt(f"reasoner: no task is known that is {seen.task[:80]!r}. Add it.")
    if not seen.code and task != "are they the same answer?":
        raise UnknownPrompt(f"reasoner: the prompt shows no puzzle to {task!r}. Show it.")
    return task


class Player:
    """One reasoner; `reply` is all that it does."""

    def __init__(self, skill: Skill | None = None) -> None:
        """Play with this skill."""
        self.skill = skill or Skill()

    def replies(self, text: str, seeds: range) -> tuple[str, list[str]]:
        """What the prompt `text` asks for, and a reply for each seed; each follows from both.

        Raises:
            UnknownPrompt: the prompt isn't one of ours.
        """
        seen = small_set.read(text) if small_set.is_small(text) else reading.read(text)
        task, place = task_of(seen), world(seen.code, self.skill.nature)
        digest = random.Random(text).getrandbits(64)
        solvers = (Solver(place, self.skill, random.Random(f"{digest} {s}")) for s in seeds)
        return task, [_ALL[task](solver, seen) for solver in solvers]
