"""When the next problem begins, and whose calls go first, so that the endpoints are kept busy.

The next problem begins as soon as the endpoints would else have too little to do.

A job that has begun holds its state in memory until it ends, so that not many more begin than it
takes to keep the limiter full. Nothing here waits for time to pass: who makes, ends or asks for a
call says that something `changed`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from tmas_graph.evaluation.row_log import Job
from tmas_graph.models.calls import Place
from tmas_graph.settings import ALL_ROLES

AHEAD = 4
"""Jobs begin until so many times as many calls are asked for as the limiter allows.

With a single time, jobs that stand before a step that few calls make leave slots empty, and the
last ones begin so late that they end alone. Simulated for 40 problems of TMAS and long-tailed
replies, 1, 2, 4 and 8 times fill 89, 91, 96 and 96 % of all slots.
"""


class Load(Protocol):
    """How busy the endpoints are."""

    @property
    def in_flight(self) -> int:
        """Requests that are not answered."""

    @property
    def waiting(self) -> int:
        """Requests that the limiter holds back."""

    @property
    def allowed(self) -> int:
        """Requests that may be in flight."""


class Admission:
    """Lets jobs begin, each in a task of its own, while the limiter has room for their calls."""

    def __init__(
        self, load: Callable[[], Load], width: Callable[[Job], int], ahead: int = AHEAD
    ) -> None:
        """Look at `load()`; `width` says how many calls a job begins with."""
        self._ahead = ahead
        self._load = load
        self._width = width
        self._news = asyncio.Event()
        self._warming: dict[Job, int] = {}
        """Jobs whose first calls the limiter hasn't seen yet, with their widths."""
        self.running = 0
        self.most = 0
        """The most jobs that ran at once."""
        self.closed = False
        """No further job begins: all have, or none may any more."""

    def changed(self) -> None:
        """Look again whether there is room."""
        self._news.set()

    def asked(self, job: Job) -> None:
        """Note that the limiter sees the calls of `job` now."""
        if self._warming.pop(job, None) is not None:
            self._news.set()

    def order(self, place: Place) -> int:
        """The priority of a call at `place`, lower first: an Order for problems wanted together.

        Problems that are behind go first. Once no further one begins, so do the earlier steps of an
        iteration, which more is still to follow: nothing else will fill slots that a few long
        chains leave empty. Before, they would only keep more problems open.
        """
        step = ALL_ROLES.index(place.role) if self.closed else 0
        return place.iteration * len(ALL_ROLES) + step

    async def run(self, jobs: Iterable[Job], work: Callable[[Job], Awaitable[None]]) -> None:
        """Do `work` for all `jobs`, the first ones first.

        Raises:
            Exception: the first that `work` raised; by then all other jobs are cancelled.
        """
        given = iter(jobs)

        async def following() -> Job | None:
            return next(given, None)

        await self.run_each(following, work)

    async def run_each(
        self,
        following: Callable[[], Awaitable[Job | None]],
        work: Callable[[Job], Awaitable[None]],
    ) -> None:
        """Do `work` for the job that `following` gives whenever there is room; until it is None.

        Raises:
            Exception: the first that `work` raised; by then all other jobs are cancelled.
        """
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await self._until_room()
                    if self.closed or (job := await following()) is None:
                        self.closed = True
                        break
                    self._warming[job] = self._width(job)
                    self.running += 1
                    self.most = max(self.most, self.running)
                    group.create_task(self._one(job, work))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _one(self, job: Job, work: Callable[[Job], Awaitable[None]]) -> None:
        try:
            await work(job)
        finally:
            self.running -= 1
            self._warming.pop(job, None)
            self._news.set()

    async def _until_room(self) -> None:
        while self.running and not self.closed and not self._has_room():
            self._news.clear()
            await self._news.wait()

    def _has_room(self) -> bool:
        load = self._load()
        asked = load.in_flight + load.waiting + sum(self._warming.values())
        return asked < self._ahead * load.allowed
