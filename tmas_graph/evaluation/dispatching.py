"""Hands the parts of a run out to workers, and again where a worker dies.

It knows no cluster: a `Hand` is a worker, wherever that is.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from tmas_graph.errors import ClusterError, ThreadBusy
from tmas_graph.evaluation import parts
from tmas_graph.evaluation.books import Books
from tmas_graph.evaluation.parts import Part
from tmas_graph.evaluation.reports import Ended, Report
from tmas_graph.evaluation.row_log import Job
from tmas_graph.models.pool import Load
from tmas_graph.usage import Usage

MOST_DEATHS = 5
"""So many deaths of one worker in a row, without a job that ended between them, end the run."""
PATIENCE = 300.0
"""Seconds without any worker that end the run: a cluster may need minutes to start a machine."""
_NOTICE = 20.0
"""Seconds without any worker after which that is said."""
_FAREWELL = 10.0
"""Seconds that a worker has to leave in order; what it loses else is a folder of scraps."""

_log = logging.getLogger(__name__)


class HandGone(Exception):
    """The worker is dead."""


class Hand(Protocol):
    """A worker, as the one who gives it work sees it; it is started by the first report."""

    async def report(self) -> Report:
        """What happened since the last report.

        Raises:
            HandGone: it is dead.
        """

    def take(self, part: Part) -> None:
        """Do `part`, too."""

    def note(self, elsewhere: Usage) -> None:
        """Take in what all others have spent."""

    async def dismiss(self) -> None:
        """Leave all parts and end."""

    def kill(self) -> None:
        """End at once."""


@dataclass(slots=True, eq=False)
class _Hired:
    """A worker and what is known of it."""

    hand: Hand
    parts: dict[str, Part] = field(default_factory=dict)
    """Those that it has."""
    spent: Usage = field(default_factory=Usage)
    """What it has told that it spent."""
    load: Load = field(default_factory=lambda: Load(0, 0, 0))
    idle: bool = False
    there: bool = False
    """It has reported."""


@dataclass(slots=True)
class Dispatcher:
    """Does `jobs` with some workers, and keeps the books."""

    books: Books
    hire: Callable[[], Hand]
    jobs: Sequence[Job]
    workers: int
    patience: float = PATIENCE
    _queue: deque[Part] = field(default_factory=deque)
    _hired: set[_Hired] = field(default_factory=set)
    _spent: dict[Job, Usage] = field(default_factory=dict)
    """By job, over all sittings."""
    _done: set[Job] = field(default_factory=set)
    _gathering: list[asyncio.Task[None]] = field(default_factory=list)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _staff: asyncio.Event = field(default_factory=asyncio.Event)
    """A worker came, or one that was there went."""
    _halted: bool = False

    def load(self) -> Load:
        """How busy the endpoints of all workers are."""
        loads = [hired.load for hired in self._hired]
        return Load(*(sum(getattr(one, n) for one in loads) for n in Load.__dataclass_fields__))

    async def run(self, before: dict[Job, Usage]) -> None:
        """Do all jobs; `before` says what was spent at each already.

        Raises:
            ClusterError: workers keep dying, or none comes.
            TmasError: a worker can't go on, for a reason that concerns every problem.
        """
        self._spent = dict(before)
        self._queue.extend(parts.cut(self.jobs, self.workers))
        await asyncio.to_thread(parts.scatter, self.books.folder, list(self._queue))
        if not self._queue:
            return
        keepers = [asyncio.create_task(self._keep()) for _ in range(self.workers)]
        keepers.append(asyncio.create_task(self._attend()))
        over = asyncio.create_task(self._over.wait())
        try:
            done, _ = await asyncio.wait([*keepers, over], return_when=asyncio.FIRST_COMPLETED)
            for task in done - {over}:
                await task
            with suppress(TimeoutError, HandGone):
                async with asyncio.timeout(_FAREWELL):
                    await asyncio.gather(*(h.hand.dismiss() for h in self._hired if h.there))
        finally:
            for task in (*keepers, over):
                task.cancel()
            await asyncio.gather(*keepers, over, return_exceptions=True)
            await self._gather()

    async def _gather(self) -> None:
        """Take all parts in, so that whoever looks now sees all threads."""
        try:
            await asyncio.gather(*self._gathering)
            await parts.gather_all(self.books.folder, patience=_FAREWELL)
        except ThreadBusy as busy:
            _log.warning("%s The next sitting gathers it.", busy)

    async def _attend(self) -> None:
        """End the run when there was no worker for too long, as nothing else would."""
        while True:
            self._staff.clear()
            if any(hired.there for hired in self._hired):
                await self._staff.wait()
                continue
            said = "run: no worker is there; they start when the cluster has processors for them."
            notice = asyncio.get_running_loop().call_later(_NOTICE, _log.warning, said)
            try:
                async with asyncio.timeout(self.patience):
                    await self._staff.wait()
            except TimeoutError:
                raise ClusterError(
                    f"run: no worker was there for {self.patience:g} s ({self.workers} wanted, a "
                    "processor each). See to the cluster's nodes, then resume."
                ) from None
            finally:
                notice.cancel()

    async def _keep(self) -> None:
        """Keep one worker at work; where it dies, another takes its place."""
        deaths = 0
        while True:
            hired = _Hired(self.hire())
            self._hired.add(hired)
            try:
                while True:
                    report = await hired.hand.report()
                    deaths = 0 if report.ended else deaths
                    self._take_in(hired, report)
            except HandGone as gone:
                deaths += 1
                _log.warning("run: a worker is gone (%s). Its parts go to others.", gone)
                if deaths >= MOST_DEATHS:
                    raise ClusterError(
                        f"run: a worker died {deaths} times in a row ({gone}). See to the "
                        "cluster's logs, then resume."
                    ) from gone
            finally:
                self._hired.discard(hired)
                if hired.there:
                    self._staff.set()
                hired.hand.kill()
                self._give_back(hired)

    def _take_in(self, hired: _Hired, report: Report) -> None:
        first, hired.load, hired.there = not hired.there, report.load, True
        if first:
            self._staff.set()
        for job, found in report.found.items():
            known = self._spent.get(job, Usage())
            if found.calls > known.calls:  # calls that a worker made, and died before it told
                self._charge(job, found - known)
        for job, spent in report.spent.items():
            hired.spent += spent
            self._charge(job, spent)
        for ended in report.ended:
            self._end(ended)
        if report.error is not None:
            raise report.error
        for name in report.released:
            del hired.parts[name]
            self._gathering.append(asyncio.create_task(parts.gather(self.books.folder, name)))
        if self._is_limited and (first or report.spent or report.found):
            self._tell()
        hired.idle = hired.idle or report.wants
        self._hand_out()

    def _charge(self, job: Job, usage: Usage) -> None:
        self._spent[job] = self._spent.get(job, Usage()) + usage
        self.books.standing.methods[job.method].purse.charge(usage)

    def _end(self, ended: Ended) -> None:
        self._done.add(ended.job)
        if not ended.rows:
            self.books.standing.halted += 1
            self._halted = True
        elif ended.error is not None:
            self.books.failed(ended.job, ended.rows[-1], ended.error)
        else:
            self.books.ended(ended.job, ended.rows)

    def _hand_out(self) -> None:
        if self._halted:
            for hired in self._hired:  # those with room wait for a part that won't come
                hired.idle = False
        for hired in self._hired:
            if hired.idle and self._queue:
                part = self._queue.popleft()
                hired.parts[part.name], hired.idle = part, False
                hired.hand.take(part)
        out = any(hired.parts for hired in self._hired)
        if not out and (self._halted or not self._queue):
            self._over.set()

    def _give_back(self, hired: _Hired) -> None:
        for part in hired.parts.values():
            jobs = tuple(job for job in part.jobs if job not in self._done)
            self._queue.appendleft(replace(part, jobs=jobs))
        hired.parts = {}
        self._hand_out()

    def _tell(self) -> None:
        total = self.books.standing.purse.spent
        for hired in self._hired:
            if hired.there:
                hired.hand.note(total - hired.spent)

    @property
    def _is_limited(self) -> bool:
        limits = self.books.plan.limits
        return any(getattr(limits, n) is not None for n in type(limits).__dataclass_fields__)
