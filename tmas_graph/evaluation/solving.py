"""Does one job, a problem with a method: runs its thread to the end and makes its rows."""

import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tmas_graph.errors import StorageError, TmasError
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.making_rows import Grader, failed_row, rows_of
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import thread_name
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.models import pool
from tmas_graph.models.budget import Budget
from tmas_graph.models.checkpointed import Order
from tmas_graph.prompts import Prompts
from tmas_graph.records import Record, made_with, refuse_other_version
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, Result
from tmas_graph.threads import ThreadStore

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """What a run's jobs are about; its settings hold the keys."""

    settings: Mapping[str, Settings]
    """By method, with its memories in their place."""
    models: Mapping[str, Mapping[str, str]]
    """By method, the served model of each role."""
    problems: Mapping[str, Problem]
    golds: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Solver:
    """Does jobs whose threads are in one store."""

    task: Task
    store: ThreadStore
    known: Collection[str]
    """Threads that exist."""
    run: Budget
    """The whole run's."""
    order: Order
    """Whose calls go first."""

    async def rows(self, job: Job, budget: Budget, asked: Callable[[Job], None]) -> list[Row]:
        """The rows of `job`, whose thread is run to its end; none if the run's budget ended it.

        Args:
            job: what to do.
            budget: what its calls are charged to, within the run's.
            asked: called when calls of it are under way.
        """
        record = await self._record(job)
        settings, calls = record.settings, self.store.calls(record.id)

        def on_event(event: Mapping[str, object]) -> None:
            if event["event"] in ("started", "candidate"):
                asked(job)

        result = await self.store.run(record, run=budget, order=self.order, on_event=on_event)
        if self._broken_off(result, settings):
            return []
        gold = self.task.golds.get(job.problem)
        judge = None
        if settings.judge:
            judge = await pool.connect(settings.endpoint("judge"))
            await calls.spent()  # or it would not look for calls of earlier sittings
        grader = Grader(record.problem, gold, Prompts.of(settings), judge, budget)
        return await rows_of(job.method, result, grader, calls)

    async def failed(self, job: Job, error: Exception) -> Row:
        """The row of `job`, which failed by `error`."""
        if not isinstance(error, TmasError):  # a fault of ours must not cost the other problems
            _log.error("run: %s with %s", job.problem, job.method, exc_info=error)
        cause = str(error) or type(error).__name__
        calls = self.store.calls(thread_name(job.method, job.problem))
        known = job.problem in self.task.golds
        return await failed_row(job.method, job.problem, cause, calls, graded=known)

    async def _record(self, job: Job) -> Record:
        """The thread of `job`, as it is to go on; made if there is none."""
        name, settings = thread_name(job.method, job.problem), self.task.settings[job.method]
        models = self.task.models[job.method]
        if name in self.known:
            record = await self.store.get(name)
            refuse_other_version(record)
            return made_with(record, settings, models)
        problem = self.task.problems[job.problem]
        return await self.store.create(problem, settings, models, job.method, name=name)

    def _broken_off(self, result: Result, settings: Settings) -> bool:
        """Whether the run's budget ended it, and not its own."""
        if result.stop != "budget" or not self.run.exhausted():
            return False
        own = Budget.of(settings)
        own.carry(result.usage, 0)
        return not own.exhausted()


def concerns_all(error: Exception) -> bool:
    """Whether no other problem can fare better: the database they share can't be written."""
    if isinstance(error, StorageError):
        return isinstance(error.__cause__, sqlite3.Error | OSError)
    return isinstance(error, sqlite3.OperationalError)


def width(entrant: Entrant) -> int:
    """How many calls a job of `entrant` begins with, about."""
    return max(1, min(entrant.settings.candidates, entrant.calls))
