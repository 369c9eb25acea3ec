"""A line of waiters from several event loops, each woken in its own.

The owner of a line holds its lock around every call.
"""

import asyncio
import heapq
import itertools
import math
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

_SLACK = 16
"""So many who gave up may stay in the heap before it is worth rebuilding."""


class Waiter:
    """One who may stand in a line, once."""

    __slots__ = ("future", "priority", "waiting")

    def __init__(self, priority: int) -> None:
        """Stand in no line yet; lower priority numbers go first."""
        self.priority = priority
        self.future: asyncio.Future[None] | None = None
        """Done when woken; belongs to the loop that joined the line."""
        self.waiting = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that joined the line."""
        assert self.future is not None, "who never joined a line has no loop"
        return self.future.get_loop()

    def wake(self) -> bool:
        """Let the waiter go on; False if its loop is closed."""
        return _run_in(self.loop, self._resolve)

    def _resolve(self) -> None:
        if self.future is not None and not self.future.done():  # else it was cancelled meanwhile
            self.future.set_result(None)


AnyWaiter = TypeVar("AnyWaiter", bound=Waiter)


class WaitingLine(Generic[AnyWaiter]):
    """Waiters by priority, then by arrival; O(log n) an operation."""

    def __init__(
        self,
        lock: AbstractContextManager[object],
        clock: Callable[[], float],
        alarm: Callable[[], None],
    ) -> None:
        """Start empty; `alarm` is called under the owner's `lock` when a time set has come."""
        self._lock = lock
        self.size = 0
        """How many wait."""
        self._clock = clock
        self._ring = alarm
        self._heap: list[tuple[int, int, AnyWaiter]] = []
        """Who gave up stays here until it surfaces, or until half the heap is such."""
        self._arrivals = itertools.count()
        self._alarms = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, float]()
        """The earliest time for which each loop that ever joined has a timer; infinity for none."""

    def join(self, waiter: AnyWaiter) -> None:
        """Stand in line with a future of the running loop."""
        assert waiter.future is None, "a waiter stands in line once"
        loop = asyncio.get_running_loop()
        waiter.future = loop.create_future()
        waiter.waiting = True
        self.size += 1
        self._alarms.setdefault(loop, math.inf)
        heapq.heappush(self._heap, (waiter.priority, next(self._arrivals), waiter))

    def first(self) -> AnyWaiter | None:
        """Tell whose turn it is; a waiter whose loop was closed is gone."""
        if len(self._heap) > 2 * self.size + _SLACK:
            self._heap = [entry for entry in self._heap if entry[2].waiting]
            heapq.heapify(self._heap)
        while self._heap:
            waiter = self._heap[0][2]
            if waiter.waiting and not waiter.loop.is_closed():
                return waiter
            heapq.heappop(self._heap)
            self.remove(waiter)
        return None

    def pop(self) -> None:
        """Take out the `first`."""
        self.remove(heapq.heappop(self._heap)[2])

    def remove(self, waiter: AnyWaiter) -> None:
        """Count a waiter out, wherever it stands."""
        if waiter.waiting:
            waiter.waiting = False
            self.size -= 1

    def set_alarm(self, at: float) -> None:
        """Ring at `at`, from every loop: any one of them may be closed before."""
        for loop, earliest in list(self._alarms.items()):
            if earliest > at:
                self._alarms[loop] = at
                if not _run_in(loop, self._start_timer, loop, at):
                    del self._alarms[loop]

    def _start_timer(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        loop.call_later(max(0.0, at - self._clock()), self._time_is_up, loop, at)

    def _time_is_up(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        with self._lock:
            if self._alarms.get(loop) == at:  # else a timer for another time is still to come
                self._alarms[loop] = math.inf
            self._ring()


def _run_in(loop: asyncio.AbstractEventLoop, call: Callable[..., object], *args: object) -> bool:
    """Call at once if `loop` runs here, else from its own thread; False if it is closed."""
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        call(*args)
        return True
    try:
        loop.call_soon_threadsafe(call, *args)
    except RuntimeError:
        return False
    return True
