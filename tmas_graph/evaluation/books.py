"""The books of a run: its rows on disk and how it stands, whoever does the work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tmas_graph.call_sums import seconds_of_all, spent_by_thread
from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.problem_set import in_shard
from tmas_graph.evaluation.row_log import Job, RowLog, Written
from tmas_graph.evaluation.run_folder import Plan, thread_name
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.evaluation.run_standing import Golds, MethodStanding, Purse, RunStanding
from tmas_graph.state import Problem
from tmas_graph.threads import ThreadStore
from tmas_graph.usage import Usage

MOST_FAILURES = 8
"""So many problems that fail in a row, while none comes through, end the run."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Told what happens, in the thread of the event loop; each must return at once."""

    begun: Callable[[RunStanding], None] = lambda standing: None
    ended: Callable[[Sequence[Row]], None] = lambda rows: None
    """With the rows of each problem and method that ended."""


UNWATCHED = Watch()


@dataclass(slots=True)
class Books:
    """The books of one sitting; one process keeps them."""

    folder: Path
    plan: Plan
    found: Dataset
    watch: Watch = UNWATCHED
    standing: RunStanding = field(init=False)
    """There once the books are open."""
    entrants: Mapping[str, Entrant] = field(init=False)
    problems: Mapping[str, Problem] = field(init=False)
    """Those of this shard."""
    _file: RowLog = field(init=False)
    _failures: int = 0
    """In a row."""

    def __post_init__(self) -> None:
        """Prepare; nothing is read or written yet."""
        self._file = RowLog(self.folder)
        self.entrants = {e.label: e for e in self.plan.entrants}
        mine = set(in_shard(self.found, self.plan.problems, self.plan.shard))
        self.problems = {p.id: p for p in self.found.problems if p.id in mine}

    async def open(self, store: ThreadStore, on_charge: Callable[[], None]) -> list[Job]:
        """Mend the rows, see how the run stands, and say what is left to do.

        Args:
            store: the threads of all earlier sittings.
            on_charge: called when something was charged to the run.
        """
        written = self._file.written()
        whole = {j: w for j, w in written.items() if w.whole}
        self._file.keep(whole)
        self.standing = await self._stand(store, written, on_charge)
        for job, rows in whole.items():
            if method := self.standing.methods.get(job.method):
                method.statuses[rows.status] += 1
                method.candidates += rows.candidates
                method.truncated += rows.truncated
        self.watch.begun(self.standing)
        return [
            job
            for name in self.problems
            for label in self.entrants
            if (job := Job(name, label)) not in whole
        ]

    def ended(self, job: Job, rows: Sequence[Row]) -> None:
        """Write the rows of a job that came through.

        Raises:
            StorageError: they can't be written.
        """
        method = self.standing.methods[job.method]
        self._file.append(rows)
        self._failures = 0
        method.statuses[rows[-1].selected.status] += 1
        method.ended += 1
        method.candidates += sum(len(row.attempts) for row in rows)
        method.truncated += sum(row.truncated for row in rows)
        method.ended_calls += sum(row.spent.calls for row in rows)
        self.watch.ended(rows)

    def failed(self, job: Job, row: Row, error: Exception) -> None:
        """Write the row of a job that failed by `error`.

        Raises:
            StorageError: it can't be written.
            Exception: `error`, where so many failed in a row that the endpoint must be at fault.
        """
        self._file.append([row])
        self.standing.fail(job.method, row.cause)
        self.watch.ended([row])
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise error

    async def _stand(
        self, store: ThreadStore, written: Mapping[Job, Written], on_charge: Callable[[], None]
    ) -> RunStanding:
        purse = Purse(**asdict(self.plan.limits))
        purse.on_charge = on_charge
        before = await spent_by_thread(store.saver)
        methods = {}
        for label, entrant in self.entrants.items():
            own = Purse(within=purse)
            for name in self.problems:
                rows = written.get(Job(name, label), Written())
                own.carry(before.get(thread_name(label, name), rows.spent), 0)
            purse.carry(own.spent, 0)
            most = entrant.settings.endpoint("solution").max_tokens
            methods[label] = MethodStanding(
                len(self.problems), own, entrant.calls, most_tokens=most
            )
        if self.plan.limits.max_seconds is not None:
            purse.carry(Usage(), await seconds_of_all(store.saver))
        standing = RunStanding(purse, methods, golds=self._golds())
        standing.begin()
        return standing

    def _golds(self) -> Golds:
        known = sum(name in self.found.golds for name in self.problems)
        return Golds(known, len(self.problems), self.plan.source.keys.get("answer", "answer"))
