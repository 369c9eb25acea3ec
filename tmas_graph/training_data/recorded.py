"""Reads the folders of runs: their plans, problems, reference answers and graded rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

from tmas_graph.errors import StorageError, ThreadChanged
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.problem_set import checksum
from tmas_graph.evaluation.run_folder import Plan, read_plan
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.state import Problem


@dataclass(frozen=True, slots=True)
class Recorded:
    """One run."""

    folder: Path
    plan: Plan
    problems: Mapping[str, Problem]
    """By id: those that it was about."""
    golds: Mapping[str, str]
    """Reference answers by problem id, of those that have one."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """What was passed over, for people."""

    def jobs(self) -> Iterator[tuple[Entrant, Problem, tuple[Row, ...]]]:
        """Each method with each problem that it has rows of, which come in their order."""
        by_job = dict[tuple[str, str], list[Row]]()
        for row in self.rows:
            by_job.setdefault((row.method, row.problem), []).append(row)
        for entrant in self.plan.entrants:
            for name, problem in self.problems.items():
                if found := by_job.get((entrant.label, name)):
                    yield entrant, problem, tuple(sorted(found, key=lambda row: row.iteration))

    def model(self, entrant: Entrant) -> str:
        """The model that wrote the candidates, as it was served or, else, asked for."""
        served = self.plan.models.get(entrant.label, {}).get("solution")
        return served or entrant.settings.endpoint("solution").model or ""


def read_all(folders: Sequence[Path]) -> list[Recorded]:
    """The runs in `folders`; one that is named twice is read once.

    Raises:
        StorageError, ThreadChanged, ProblemError, MissingExtra: as `read`.
    """
    once = dict[str, Path]()
    for folder in folders:
        once.setdefault(realpath(folder), folder)
    return [read(folder) for folder in once.values()]


def read(folder: Path) -> Recorded:
    """The run in `folder`.

    Raises:
        StorageError: there is none, it has no row, or it can't be read.
        ThreadChanged: its problems or reference answers aren't those that it was about.
        ProblemError: its data set can't be found.
        MissingExtra: its data set needs the package `datasets`.
    """
    plan = read_plan(folder)
    if plan.parts:
        raise StorageError(
            f"{folder}: is a merge, which has no threads. Give its parts: {', '.join(plan.parts)}."
        )
    rows, notes = _rows(folder)
    found = plan.source.load()
    if checksum(found, plan.problems) != plan.checksum:
        raise ThreadChanged(
            f"{folder}: the problems or reference answers of {found.name} aren't those that the "
            "run was about. Restore them."
        )
    problems = {problem.id: problem for problem in found.problems}
    wanted = {name: problems[name] for name in plan.problems}
    golds = {name: found.golds[name] for name in wanted if name in found.golds}
    return Recorded(folder, plan, wanted, golds, rows, notes)


def _rows(folder: Path) -> run_rows.Rows:
    file = folder / run_rows.FILE
    found = run_rows.read(file) if file.exists() else run_rows.Rows((), ())
    if not found.rows:
        raise StorageError(
            f"{folder}: no problem of this run has ended. Let it go on with "
            f"`tmas run --resume {folder}`."
        )
    return found
