"""A line in front of a machine that serves so many requests at a time, each for a time of its own.

Latencies of language models have a heavy tail: most replies take about the median, a few many
times as long. They are drawn here by the seed of each request, so that two clients that ask the
same are served alike, whatever their order.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast requests are served."""

    mean: float = 0.0
    """Seconds of a request on average, once it is served; 0: at once."""
    spread: float = 0.8
    """Standard deviation of the logarithm; 0.8: one in a hundred takes six times the median."""
    capacity: int = 0
    """Requests that are served at a time; the others wait in line. 0: all at once."""

    def seconds(self, rng: random.Random) -> float:
        """How long one request takes; log-normal with the mean `mean`."""
        if self.mean <= 0:
            return 0.0
        middle = log(self.mean) - self.spread**2 / 2
        return exp(rng.gauss(middle, self.spread))


class Line:
    """Requests that wait and are served, with what was seen of them."""

    def __init__(self, pace: Pace) -> None:
        """Serve at this pace."""
        self.pace = pace
        self.served = self.waiting = self.most = 0
        self.busy_seconds = 0.0
        """Of all served requests together: over capacity and wall time, the share that is used."""
        self._places = asyncio.Semaphore(pace.capacity) if pace.capacity else None

    @asynccontextmanager
    async def place(self, seconds: float) -> AsyncIterator[None]:
        """Wait for a place in the machine, and keep it for `seconds`."""
        self.waiting += 1
        try:
            if self._places is not None:
                await self._places.acquire()
        finally:
            self.waiting -= 1
        self.served += 1
        self.most = max(self.most, self.served)
        try:
            if seconds > 0:
                await asyncio.sleep(seconds)
            self.busy_seconds += seconds
            yield
        finally:
            self.served -= 1
            if self._places is not None:
                self._places.release()
