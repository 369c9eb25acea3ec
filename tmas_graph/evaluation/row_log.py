"""The file of rows while a run writes it: appended to at once, mended after a crash."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tmas_graph.errors import StorageError
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.metrics import Status
from tmas_graph.evaluation.run_folder import unusable
from tmas_graph.evaluation.run_rows import Row, dump, parse
from tmas_graph.usage import Usage


class Job(NamedTuple):
    """One problem for one method."""

    problem: str
    method: str


@dataclass(slots=True)
class Written:
    """What the file holds of one job."""

    iterations: set[int] = field(default_factory=set)
    last: int = -1
    """The iteration after which it ended; -1 where its rows don't say."""
    failed: bool = False
    status: Status = "error"
    """Of the answer that it ended with."""
    candidates: int = 0
    truncated: int = 0
    """Those of them that were cut off."""
    spent: Usage = field(default_factory=Usage)
    """By all its rows; for where the database, which knows better, was lost."""

    @property
    def whole(self) -> bool:
        """Whether all rows of a job that ended well are there."""
        return self.last >= 0 and self.iterations == set(range(self.last + 1)) and not self.failed

    def add(self, row: Row) -> None:
        """Take in one of its rows."""
        self.iterations.add(row.iteration)
        self.spent += row.spent
        self.candidates += len(row.attempts)
        self.truncated += row.truncated
        self.failed = self.failed or row.outcome == "failed"
        if row.stop is not None:
            self.last, self.status = row.iteration, row.selected.status


class RowLog:
    """The rows of one run, on disk; one process writes them."""

    def __init__(self, folder: Path) -> None:
        """Write to the file of `folder`."""
        self._file = folder / run_rows.FILE

    def append(self, rows: Sequence[Row]) -> None:
        """Add all rows of one job; they are on disk when this returns.

        Raises:
            StorageError: the file can't be written.
        """
        lines = "".join(f"{dump(row)}\n" for row in rows)
        try:
            with self._file.open("a", encoding="utf-8") as out:
                out.write(lines)
                out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise unusable(self._file, error) from error

    def written(self) -> dict[Job, Written]:
        """What each job has; lines that a crash left half-written don't count."""
        found = defaultdict[Job, Written](Written)
        for row in self._readable():
            found[Job(row.problem, row.method)].add(row)
        return dict(found)

    def keep(self, jobs: Collection[Job]) -> None:
        """Leave no rows but those of `jobs`, each once, and no half-written line.

        From then on there is a file, if an empty one.

        Raises:
            StorageError: the file can't be written.
        """
        seen = set[run_rows.Key]()

        def wanted(row: Row) -> bool:
            new = row.key not in seen and Job(row.problem, row.method) in jobs
            seen.add(row.key)
            return new

        self._rewrite(wanted)

    def _rewrite(self, wanted: Callable[[Row], bool]) -> None:
        beside = self._file.with_name(self._file.name + ".new")
        try:
            with beside.open("w", encoding="utf-8") as out:
                out.writelines(f"{dump(row)}\n" for row in self._readable() if wanted(row))
                out.flush()
                os.fsync(out.fileno())
            os.replace(beside, self._file)
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise unusable(self._file, error) from error

    def _readable(self) -> Iterator[Row]:
        """The rows, one by one: a run's file may be larger than memory."""
        if not self._file.exists():
            return
        with self._file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    yield parse(line, f"{self._file}:{number}")
                except StorageError:
                    continue  # whoever resumes makes it anew
