"""Which reference answers a reward can be computed from: those that our grader can tell right."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tmas_graph.answers.equivalence import agrade
from tmas_graph.answers.extract import gold_answer
from tmas_graph.training_data.recorded import Recorded

NONE = "no reference answer"
SEVERAL = "runs have different reference answers"
UNGRADABLE = "the reference answer can't be graded by rule"


@dataclass(frozen=True, slots=True)
class Reference:
    """The reference answer of a problem, or why there is none to train with."""

    answer: str = ""
    """Without the box or sentence around it."""
    fault: str = ""
    """Empty where the answer can be used."""


async def references(runs: Iterable[Recorded]) -> dict[str, Reference]:
    """The reference of each problem that `runs` have rows of, by question."""
    golds = defaultdict[str, set[str]](set)
    for run in runs:
        for _, problem, _ in run.jobs():
            known = run.golds.get(problem.id) if problem.kind == "answer" else None
            golds[problem.question] |= set() if known is None else {gold_answer(known)}
    return {question: await _checked(found) for question, found in golds.items()}


async def _checked(golds: set[str]) -> Reference:
    if len(golds) != 1:
        return Reference(fault=SEVERAL if golds else NONE)
    [gold] = golds
    # One that doesn't equal itself would call every solution wrong, the right ones too.
    verdict = await agrade(rf"\boxed{{{gold}}}", gold)
    return Reference(gold) if verdict.outcome == "correct" else Reference(gold, UNGRADABLE)
