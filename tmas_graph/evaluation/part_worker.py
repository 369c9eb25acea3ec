"""Does parts of a run in a process of its own, and reports what became of them.

It knows no cluster: whoever started it gives it parts and asks it for reports.
"""

import asyncio
import shutil
import tempfile
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tmas_graph.call_sums import spent_by_thread
from tmas_graph.errors import ClusterError, StorageError, TmasError
from tmas_graph.evaluation import parts
from tmas_graph.evaluation.parts import Part
from tmas_graph.evaluation.reports import Brief, Ended, Report, Texts
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import FILE, thread_name
from tmas_graph.evaluation.scheduling import Admission
from tmas_graph.evaluation.solving import Solver, Task, concerns_all, width
from tmas_graph.memory.opening import bank_of
from tmas_graph.models import pool
from tmas_graph.models.budget import Budget
from tmas_graph.stored import by_name
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage


@dataclass(slots=True)
class _Open:
    """A part at which it works."""

    name: str
    solver: Solver
    left: set[Job]
    stack: AsyncExitStack


@dataclass(slots=True)
class PartWorker:
    """Works until it is dismissed; used within one event loop."""

    brief: Brief
    texts: Texts
    admission: Admission = field(init=False)
    _purse: Budget = field(init=False)
    """The whole run's, as far as it is known here."""
    _elsewhere: Usage = field(default_factory=Usage)
    """What others have spent."""
    _task: Task = field(init=False)
    _working: "asyncio.Task[None] | None" = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _given: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: deque[Part] = field(default_factory=deque)
    _jobs: deque[Job] = field(default_factory=deque)
    _open: dict[Job, _Open] = field(default_factory=dict)
    _spent: dict[Job, Usage] = field(default_factory=dict)
    _found: dict[Job, Usage] = field(default_factory=dict)
    _ended: list[Ended] = field(default_factory=list)
    _released: list[str] = field(default_factory=list)
    _wants: bool = False
    _error: Exception | None = None

    def __post_init__(self) -> None:
        """Prepare; nothing is read, written or asked yet."""
        self._purse = Budget(**by_name(self.brief.limits))
        self._purse.carry(Usage(), self.brief.seconds)
        entrants = self.brief.entrants
        self.admission = Admission(pool.load, lambda job: width(entrants[job.method]))

    def take(self, part: Part) -> None:
        """Do `part`, too."""
        self._waiting.append(part)
        self._given.set()

    def note(self, elsewhere: Usage) -> None:
        """Take in what all others have spent, so that the run's budget holds here."""
        own = self._purse.spent - self._elsewhere
        self._elsewhere, self._purse.spent = elsewhere, elsewhere + own
        self.admission.changed()

    async def report(self) -> Report:
        """Wait until there is something to say, and say it; the first one starts the work."""
        if self._working is None:
            self._working = asyncio.create_task(self._work())
        await self._news.wait()
        self._news.clear()
        report = Report(
            load=pool.load(),
            spent=self._spent,
            found=self._found,
            ended=tuple(self._ended),
            released=tuple(self._released),
            wants=self._wants,
            error=self._error,
        )
        self._spent, self._found, self._ended, self._released = {}, {}, [], []
        self._wants = False
        return report

    async def dismiss(self) -> None:
        """Begin no further job; wait for those that run, and leave all parts."""
        self.admission.closed = True
        self._given.set()
        self.admission.changed()
        if self._working is not None:
            await self._working

    async def _work(self) -> None:
        memory = Path(tempfile.mkdtemp(prefix="tmas-memory-"))
        try:
            try:
                await self._begin(memory)
                await self.admission.run_each(self._following, self._one)
            finally:
                for opened in {id(one): one for one in self._open.values()}.values():
                    await self._leave(opened)
                await self._close(memory)
        except Exception as error:
            self._error = _sendable(error)
        self._news.set()

    async def _begin(self, memory: Path) -> None:
        file = Path(self.brief.folder) / FILE
        if not file.is_file() or file.read_text(encoding="utf-8") != self.brief.plan:
            raise StorageError(
                f"run: a worker doesn't see this run in {self.brief.folder}. Put its folder where "
                "all machines see it by the same path, or use --shard on each."
            )
        settings = {}
        for label, entrant in self.brief.entrants.items():
            given = entrant.settings
            if given.memory_server is None:  # what is lost with it comes back from checkpoints
                given = given.model_copy(update={"memory_folder": str(memory)})
            await pool.check(given)
            settings[label] = given
        self._task = Task(settings, self.brief.models, self.texts.problems, self.texts.golds)

    async def _following(self) -> Job | None:
        """The next job, when there is one; None after the end."""
        while not self._jobs:
            if self.admission.closed:
                return None
            if self._waiting:
                await self._enter(self._waiting.popleft())
                continue
            self._given.clear()
            self._wants = True
            self._news.set()
            await self._given.wait()
        return self._jobs.popleft()

    async def _enter(self, part: Part) -> None:
        async with AsyncExitStack() as stack:
            place = await stack.enter_async_context(parts.held(Path(self.brief.folder), part.name))
            store = await stack.enter_async_context(open_threads(place))
            known = set(await store.statuses())
            solver = Solver(self._task, store, known, self._purse, self.admission.order)
            before = await spent_by_thread(store.saver)
            opened = _Open(part.name, solver, set(part.jobs), stack.pop_all())
        for job in part.jobs:
            self._open[job] = opened
            self._found[job] = before.get(thread_name(job.method, job.problem), Usage())
        self._jobs.extend(part.jobs)
        if not part.jobs:  # its last owner died before it could leave
            await self._leave(opened)

    async def _one(self, job: Job) -> None:
        opened, budget = self._open[job], _Purse(within=self._purse)
        budget.on_charge = partial(self._charge, job)
        ended = Ended(job, ())
        try:
            rows = await opened.solver.rows(job, budget, self.admission.asked)
            ended = replace(ended, rows=tuple(rows))
        except Exception as error:
            if concerns_all(error):
                raise
            row = await opened.solver.failed(job, error)
            ended = replace(ended, rows=(row,), error=_sendable(error))
        self._ended.append(ended)
        if not ended.rows:
            self.admission.closed = True
            self._given.set()
        opened.left.discard(job)
        if not opened.left:
            await self._leave(opened)
        self._news.set()

    async def _leave(self, opened: _Open) -> None:
        for job in [job for job, one in self._open.items() if one is opened]:
            del self._open[job]
        await opened.stack.aclose()
        self._released.append(opened.name)

    async def _close(self, memory: Path) -> None:
        for entrant in self.brief.entrants.values():
            given = entrant.settings.model_copy(update={"memory_folder": str(memory)})
            if entrant.settings.memory_server is None:
                await bank_of(given).store.close()
        await asyncio.to_thread(shutil.rmtree, memory, ignore_errors=True)

    def _charge(self, job: Job, usage: Usage) -> None:
        self.admission.asked(job)
        self._spent[job] = self._spent.get(job, Usage()) + usage
        self._news.set()


class _Purse(Budget):
    """The budget of one job, that tells what is charged to it."""

    on_charge: Callable[[Usage], None]

    def charge(self, usage: Usage) -> None:
        """Count `usage`, then tell of it."""
        super().charge(usage)
        self.on_charge(usage)


def _sendable(error: Exception) -> Exception:
    """What another process can read, whatever packages it has."""
    ours = isinstance(error, TmasError)
    return error if ours else ClusterError(f"run: a worker failed by {error!r}. See its log.")
