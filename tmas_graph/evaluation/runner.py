"""Runs many problems with many methods: begins them, writes their rows, survives their failures.

Killed at any moment, a run goes on where it was: a finished model call is in the database, a
finished problem there too, and rows that are missing are made from it.
"""

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from tmas_graph.call_sums import seconds_of_all, spent_by_thread
from tmas_graph.errors import StorageError, TmasError
from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.making_rows import Grader, failed_row, rows_of
from tmas_graph.evaluation.planning import placed
from tmas_graph.evaluation.problem_set import in_shard
from tmas_graph.evaluation.row_log import Job, RowLog, Written
from tmas_graph.evaluation.run_folder import Plan, thread_name
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.evaluation.run_standing import Golds, MethodStanding, Purse, RunStanding
from tmas_graph.evaluation.scheduling import Admission
from tmas_graph.memory.opening import bank_of
from tmas_graph.models import pool
from tmas_graph.models.budget import Budget
from tmas_graph.prompts import Prompts
from tmas_graph.records import Record, made_with, refuse_other_version
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, Result
from tmas_graph.threads import ThreadStore

MOST_FAILURES = 8
"""So many problems that fail in a row, while none comes through, end the run."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Watch:
    """Told what happens, in the thread of the event loop; each must return at once."""

    begun: Callable[[RunStanding], None] = lambda standing: None
    ended: Callable[[Sequence[Row]], None] = lambda rows: None
    """With the rows of each problem and method that ended."""


UNWATCHED = Watch()


@dataclass(slots=True)
class Runner:
    """One sitting of a run."""

    folder: Path
    plan: Plan
    found: Dataset
    store: ThreadStore
    watch: Watch = UNWATCHED
    admission: Admission = field(init=False)
    standing: RunStanding = field(init=False)
    _file: RowLog = field(init=False)
    _entrants: Mapping[str, Entrant] = field(init=False)
    _settings: Mapping[str, Settings] = field(init=False)
    _problems: Mapping[str, Problem] = field(init=False)
    _known: set[str] = field(default_factory=set)
    """Threads that exist."""
    _failures: int = 0
    """In a row."""

    def __post_init__(self) -> None:
        """Prepare; nothing is read or written yet."""
        self.admission = Admission(pool.load, self._width)
        self._file = RowLog(self.folder)
        self._entrants = {e.label: e for e in self.plan.entrants}
        self._settings = {e.label: placed(e, self.folder) for e in self.plan.entrants}
        mine = set(in_shard(self.found, self.plan.problems, self.plan.shard))
        self._problems = {p.id: p for p in self.found.problems if p.id in mine}

    async def run(self) -> RunStanding:
        """Do all that is left to do.

        Raises:
            TmasError: the run can't go on, for a reason that concerns every problem.
        """
        written = self._file.written()
        whole = {j: w for j, w in written.items() if w.whole}
        self._file.keep(whole)
        self._known = set(await self.store.statuses())
        self.standing = await self._stand(written)
        for job, rows in whole.items():
            if method := self.standing.methods.get(job.method):
                method.statuses[rows.status] += 1
                method.candidates += rows.candidates
                method.truncated += rows.truncated
        self.watch.begun(self.standing)
        jobs = [
            job
            for name in self._problems
            for label in self._entrants
            if (job := Job(name, label)) not in whole
        ]
        try:
            await self.admission.run(jobs, self._work)
        finally:
            for settings in self._settings.values():
                if settings.memory_folder:
                    await bank_of(settings).store.close()
        return self.standing

    async def _stand(self, written: Mapping[Job, Written]) -> RunStanding:
        purse = Purse(**asdict(self.plan.limits))
        purse.on_charge = self.admission.changed
        before = await spent_by_thread(self.store.saver)
        methods = {}
        for label, entrant in self._entrants.items():
            own = Purse(within=purse)
            for name in self._problems:
                rows = written.get(Job(name, label), Written())
                own.carry(before.get(thread_name(label, name), rows.spent), 0)
            purse.carry(own.spent, 0)
            most = entrant.settings.endpoint("solution").max_tokens
            methods[label] = MethodStanding(
                len(self._problems), own, entrant.calls, most_tokens=most
            )
        if self.plan.limits.max_seconds is not None:
            purse.carry(type(purse.spent)(), await seconds_of_all(self.store.saver))
        standing = RunStanding(purse, methods, golds=self._golds())
        standing.begin()
        return standing

    def _golds(self) -> Golds:
        known = sum(name in self.found.golds for name in self._problems)
        return Golds(known, len(self._problems), self.plan.source.keys.get("answer", "answer"))

    async def _work(self, job: Job) -> None:
        method = self.standing.methods[job.method]
        budget = Purse(within=method.purse)
        budget.on_charge = partial(self.admission.asked, job)
        try:
            rows = await self._rows(job, budget)
        except Exception as error:
            if _concerns_all(error):
                raise
            await self._failed(job, error)
            return
        if not rows:
            self.standing.halted += 1
            self.admission.closed = True
            return
        self._file.append(rows)
        self._failures = 0
        method.statuses[rows[-1].selected.status] += 1
        method.ended += 1
        method.candidates += sum(len(row.attempts) for row in rows)
        method.truncated += sum(row.truncated for row in rows)
        method.ended_calls += sum(row.spent.calls for row in rows)
        self.watch.ended(rows)

    async def _rows(self, job: Job, budget: Budget) -> list[Row]:
        """The rows of a job, whose thread is run to its end; none if the run's budget ended it."""
        record = await self._record(job)
        settings, calls = record.settings, self.store.calls(record.id)

        def on_event(event: Mapping[str, object]) -> None:
            if event["event"] in ("started", "candidate"):
                self.admission.asked(job)

        result = await self.store.run(record, run=budget, on_event=on_event)
        if self._broken_off(result, settings):
            return []
        gold = self.found.golds.get(job.problem)
        judge = None
        if settings.judge:
            judge = await pool.connect(settings.endpoint("judge"))
            await calls.spent()  # or it would not look for calls of earlier sittings
        grader = Grader(record.problem, gold, Prompts.of(settings), judge, budget)
        return await rows_of(job.method, result, grader, calls)

    async def _record(self, job: Job) -> Record:
        """The thread of `job`, as it is to go on; made if there is none."""
        name, settings = thread_name(job.method, job.problem), self._settings[job.method]
        models = self.plan.models[job.method]
        if name in self._known:
            record = await self.store.get(name)
            refuse_other_version(record)
            return made_with(record, settings, models)
        problem = self._problems[job.problem]
        return await self.store.create(problem, settings, models, job.method, name=name)

    def _broken_off(self, result: Result, settings: Settings) -> bool:
        """Whether the run's budget ended it, and not its own."""
        if result.stop != "budget" or not self.standing.purse.exhausted():
            return False
        own = Budget.of(settings)
        own.carry(result.usage, 0)
        return not own.exhausted()

    async def _failed(self, job: Job, error: Exception) -> None:
        if not isinstance(error, TmasError):  # a fault of ours must not cost the other problems
            _log.exception("run: %s with %s", job.problem, job.method)
        cause = str(error) or type(error).__name__
        calls = self.store.calls(thread_name(job.method, job.problem))
        known = job.problem in self.found.golds
        row = await failed_row(job.method, job.problem, cause, calls, graded=known)
        self._file.append([row])
        self.standing.fail(job.method, cause)
        self.watch.ended([row])
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise error

    def _width(self, job: Job) -> int:
        """How many calls the job begins with, about."""
        entrant = self._entrants[job.method]
        return max(1, min(entrant.settings.candidates, entrant.calls))


def _concerns_all(error: Exception) -> bool:
    """Whether no other problem can fare better: the database they share can't be written."""
    if isinstance(error, StorageError):
        return isinstance(error.__cause__, sqlite3.Error | OSError)
    return isinstance(error, sqlite3.OperationalError)
