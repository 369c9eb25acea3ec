"""The data sets as tasks of inspect's: `tmas_graph/gsm8k`, or `tmas_graph/problems` for any."""

from collections.abc import Callable

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample

from tmas_graph.evaluation.datasets import SOURCES, Dataset, load
from tmas_graph.inspecting.scorers import candidates, grader
from tmas_graph.inspecting.solvers import method


@task
def problems(
    name: str,
    limit: int | None = None,
    path: str | None = None,
    split: str | None = None,
    judge: bool = False,
) -> Task:
    """Solve the problems of a data set; TMAS does, unless another solver is given.

    Args:
        name: of a data set, a JSONL file, or a Hugging Face id.
        limit: only the first ones.
        path: where a named one is instead.
        split: of a Hugging Face id.
        judge: ask a model where the grader's rules are unsure.

    Raises:
        ProblemError: the data set can't be used.
        MissingExtra: it needs the package `datasets`.
    """
    found = load(name, path=path, split=split)
    return Task(
        dataset=MemoryDataset(samples(found, limit), name=found.name, location=path or name),
        solver=method(),
        scorer=[grader(judge=judge), candidates()],
        metadata={"version": found.version},
    )


def samples(found: Dataset, limit: int | None = None) -> list[Sample]:
    """The first `limit` problems, or all; one whose gold answer isn't known has an empty target."""
    return [
        Sample(
            input=problem.question,
            target=found.golds.get(problem.id, ""),
            id=problem.id,
            metadata={"problem": problem.id},
        )
        for problem in found.problems[:limit]
    ]


def _named(name: str) -> Callable[..., Task]:
    """The data set of this name as a task of the same name."""

    @task(name=name)
    def named(
        limit: int | None = None,
        path: str | None = None,
        split: str | None = None,
        judge: bool = False,
    ) -> Task:
        return problems(name, limit, path, split, judge)

    return named


TASKS = {name: _named(name) for name in SOURCES}
"""By the data set's name."""
