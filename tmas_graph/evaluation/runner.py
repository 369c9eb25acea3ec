"""Runs many problems with many methods: begins them, writes their rows, survives their failures.

Killed at any moment, a run goes on where it was: a finished model call is in the database, a
finished problem there too, and rows that are missing are made from it.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from tmas_graph.evaluation.books import Books
from tmas_graph.evaluation.planning import placed
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import Plan
from tmas_graph.evaluation.run_standing import Purse
from tmas_graph.evaluation.scheduling import Admission, Load
from tmas_graph.evaluation.solving import Solver, Task, concerns_all, width
from tmas_graph.memory.opening import bank_of
from tmas_graph.models import pool
from tmas_graph.threads import ThreadStore, open_threads


class Executor(Protocol):
    """Where the jobs of a run are done."""

    def load(self) -> Load:
        """How busy its endpoints are."""

    def check(self, plan: Plan) -> None:
        """Make sure that `plan` can be done there, before anything is written or paid for.

        Raises:
            SettingsError: a setting stands against it.
        """

    async def run(self, books: Books) -> None:
        """Do all that is left to do, and keep the books of it.

        Raises:
            TmasError: the run can't go on, for a reason that concerns every problem.
        """


class Here:
    """In this process."""

    def load(self) -> Load:
        """How busy its endpoints are."""
        return pool.load()

    def check(self, plan: Plan) -> None:
        """Every plan can be done here."""

    async def run(self, books: Books) -> None:
        """Do all that is left to do.

        Raises:
            TmasError: the run can't go on, for a reason that concerns every problem.
        """
        async with open_threads(books.folder) as store:
            await Runner(books, store).run()


HERE = Here()


@dataclass(slots=True)
class Runner:
    """One sitting of a run, in this process."""

    books: Books
    store: ThreadStore
    admission: Admission = field(init=False)
    _solver: Solver = field(init=False)

    def __post_init__(self) -> None:
        """Prepare; nothing is read or written yet."""
        self.admission = Admission(pool.load, lambda job: width(self.books.entrants[job.method]))

    async def run(self) -> None:
        """Do all that is left to do."""
        books = self.books
        settings = {label: placed(e, books.folder) for label, e in books.entrants.items()}
        task = Task(settings, books.plan.models, books.problems, books.found.golds)
        jobs = await books.open(self.store, self.admission.changed)
        known = set(await self.store.statuses())
        self._solver = Solver(task, self.store, known, books.standing.purse, self.admission.order)
        try:
            await self.admission.run(jobs, self._work)
        finally:
            for given in settings.values():
                if given.memory_folder:
                    await bank_of(given).store.close()

    async def _work(self, job: Job) -> None:
        books, asked = self.books, self.admission.asked
        budget = Purse(within=books.standing.methods[job.method].purse)
        budget.on_charge = partial(asked, job)
        try:
            rows = await self._solver.rows(job, budget, asked)
        except Exception as error:
            if concerns_all(error):
                raise
            books.failed(job, await self._solver.failed(job, error), error)
            return
        if rows:
            books.ended(job, rows)
        else:
            books.standing.halted += 1
            self.admission.closed = True
