"""How many calls may be in flight at one endpoint, and how fast they may start.

One `Limiter` stands for one server and key. All problems, threads and event loops of the process
share it. A call holds a `Slot`; it waits for one while too many calls are in flight, while the
endpoint has asked for a pause, or while a limit per minute has no room. Lower priority numbers go
first, equal ones in order of arrival; nobody overtakes the first in line, however large its call.

How many may be in flight follows AIMD (Chiu & Jain 1989): an endpoint that pushes back halves the
number, answers raise it again in small equal steps.

Not covered: retries, and how long a Retry-After may be. The caller decides both.
"""

import math
import threading
import time
from collections.abc import Callable
from typing import Self

from tmas_graph.models.bucket import Bucket, resized
from tmas_graph.models.waiting_line import Waiter, WaitingLine

_STEPS = 16
"""About so many steps lead from one call in flight back to all."""


class Slot(Waiter):
    """The right to make one call: `async with limiter.slot() as slot`. It serves once."""

    __slots__ = ("_limiter", "bucket", "entered_after", "held", "tokens")

    def __init__(self, limiter: "Limiter", priority: int, tokens: int) -> None:
        """Ask for nothing yet."""
        super().__init__(priority)
        self._limiter = limiter
        self.tokens = tokens
        """The estimate, then what was spent."""
        self.bucket: Bucket | None = None
        """Where `tokens` were taken; None if nothing limited them at entrance."""
        self.held = False
        self.entered_after = -1
        """How often the limiter had shrunk at entrance; -1 before."""

    async def __aenter__(self) -> Self:
        """Wait for the slot; without a contender nothing is awaited."""
        if not self._limiter._enter(self) and self.future is not None:
            try:
                await self.future
            except BaseException:  # the grant and the cancellation may have crossed
                self._limiter._give_up(self)
                raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Hand the slot on."""
        self._limiter._leave(self)

    def spent(self, tokens: int) -> None:
        """Replace the estimate by what the call cost in all; the last word counts."""
        self._limiter._correct(self, tokens)

    def succeeded(self) -> None:
        """Note that an answer came."""
        self._limiter._grow()

    def pushed_back(self, retry_after: float | None) -> None:
        """Note a 429 or 503; with `retry_after` seconds, no call starts before they are over."""
        self._limiter._shrink(self, retry_after)


class Limiter:
    """Lets calls start at one endpoint; safe to share between threads and event loops."""

    def __init__(
        self,
        most: int,
        *,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Allow `most` calls in flight; None sets no limit. `clock` counts seconds."""
        # Reentrant: the garbage collector may end a forgotten task, and so leave its slot, on
        # the very thread that holds the lock.
        self._lock = threading.RLock()
        self._clock = clock
        self._most = self._allowed = most
        self._requests: Bucket | None = None
        self._tokens: Bucket | None = None
        self._in_flight = self._successes = self._shrinks = 0
        self._paused_until = -math.inf
        self._line = WaitingLine[Slot](self._lock, clock, self._admit)
        self._admitting = self._again = False
        self.resize(most, requests_per_minute, tokens_per_minute)

    @property
    def in_flight(self) -> int:
        """Calls that hold a slot."""
        return self._in_flight

    @property
    def waiting(self) -> int:
        """Calls that want a slot and have none."""
        return self._line.size

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now: `most`, or less after the endpoint pushed back."""
        return self._allowed

    @property
    def paused_for(self) -> float:
        """Seconds until the pause that the endpoint asked for ends."""
        return max(0.0, self._paused_until - self._clock())

    def slot(self, priority: int = 0, tokens: int = 0) -> Slot:
        """Prepare one call of about `tokens` tokens; lower priority numbers go first."""
        return Slot(self, priority, tokens)

    def resize(
        self, most: int, requests_per_minute: int | None, tokens_per_minute: int | None
    ) -> None:
        """Go by other limits from now on; calls in flight stay, and debts are kept.

        Raises:
            ValueError: a limit is below 1; nothing has changed.
        """
        _check(
            most=most, requests_per_minute=requests_per_minute, tokens_per_minute=tokens_per_minute
        )
        with self._lock:
            now = self._clock()
            self._requests = resized(self._requests, requests_per_minute, now)
            self._tokens = resized(self._tokens, tokens_per_minute, now)
            self._allowed = most if self._allowed == self._most else min(self._allowed, most)
            self._most = most
            self._admit()

    def _enter(self, slot: Slot) -> bool:
        """Take a slot at once, or stand in line for one and say False."""
        with self._lock:
            assert slot.entered_after < 0, "a slot serves once"
            if not self._line.size and self._in_flight < self._allowed:
                now = self._clock()
                if self._ready_at(slot) <= now:
                    self._grant(slot, now)
                    return True
            self._line.join(slot)
            self._admit()
            return slot.held

    def _leave(self, slot: Slot) -> None:
        with self._lock:
            if slot.held:
                slot.held = False
                self._in_flight -= 1
                if self._line.size:
                    self._admit()

    def _give_up(self, slot: Slot) -> None:
        """Forget a waiter that was cancelled; a slot it was given meanwhile goes on unused."""
        with self._lock:
            self._line.remove(slot)
            if slot.held:
                self._take_back(slot)
            self._admit()

    def _correct(self, slot: Slot, tokens: int) -> None:
        with self._lock:
            if slot.bucket is not None:
                slot.bucket.take(tokens - slot.tokens, self._clock())
                slot.tokens = tokens
                self._admit()

    def _grow(self) -> None:
        with self._lock:
            self._successes += 1
            if self._successes >= self._allowed:
                self._successes = 0
                step = max(1, self._most // _STEPS)
                self._allowed = min(self._most, self._allowed + step)
                self._admit()

    def _shrink(self, slot: Slot, retry_after: float | None) -> None:
        with self._lock:
            # Calls that started before the last shrink tell of a load that is already cut.
            if slot.entered_after == self._shrinks:
                self._shrinks += 1
                self._successes = 0
                self._allowed = max(1, min(self._allowed, self._in_flight) // 2)
            if retry_after is not None:
                self._paused_until = max(self._paused_until, self._clock() + retry_after)

    def _admit(self) -> None:
        """Give slots to all who fit now, the first in line first."""
        if self._admitting:  # called by the garbage collector from below: look once more
            self._again = True
            return
        self._admitting = self._again = True
        try:
            while self._again:
                self._again = False
                self._admit_first()
        finally:
            self._admitting = False

    def _admit_first(self) -> None:
        while (slot := self._line.first()) is not None and self._in_flight < self._allowed:
            if (at := self._ready_at(slot)) > (now := self._clock()):
                self._line.set_alarm(at)
                return
            self._line.pop()
            self._grant(slot, now)
            if not slot.wake():
                self._take_back(slot)

    def _ready_at(self, slot: Slot) -> float:
        """Tell when the pause is over and both buckets have room, if nobody else comes."""
        at = self._paused_until
        if self._requests is not None:
            at = max(at, self._requests.ready_at(1))
        if self._tokens is not None:
            at = max(at, self._tokens.ready_at(slot.tokens))
        return at

    def _grant(self, slot: Slot, now: float) -> None:
        slot.held = True
        slot.entered_after = self._shrinks
        self._in_flight += 1
        if self._requests is not None:
            self._requests.take(1, now)
        slot.bucket = self._tokens
        if slot.bucket is not None:
            slot.bucket.take(slot.tokens, now)

    def _take_back(self, slot: Slot) -> None:
        """Undo a grant that was not used."""
        slot.held = False
        self._in_flight -= 1
        now = self._clock()
        if self._requests is not None:
            self._requests.take(-1, now)
        if slot.bucket is not None:
            slot.bucket.take(-slot.tokens, now)


def _check(**limits: int | None) -> None:
    for name, limit in limits.items():
        if limit is not None and limit < 1:
            raise ValueError(f"{name}: a limit of {limit} lets no call start. Set 1 or more.")
