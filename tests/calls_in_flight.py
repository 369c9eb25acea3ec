"""Calls through a limiter that a test begins and ends one by one."""

import asyncio
from typing import Any

from virtual_time import now

from tmas_graph.models.limiter import Limiter, Slot


def limiter(most: int, **limits: int) -> Limiter:
    return Limiter(most, clock=asyncio.get_running_loop().time, **limits)


class Calls:
    """Calls that stay in flight until they are told to end; knows when and in which order."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.started: list[str] = []
        self.times: list[float] = []
        self.slots: dict[str, Slot] = {}
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def begin(self, name: str, priority: int = 0, tokens: int = 0) -> None:
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._call(name, priority, tokens))

    async def _call(self, name: str, priority: int, tokens: int) -> None:
        async with self.limiter.slot(priority, tokens) as slot:
            self.started.append(name)
            self.times.append(now())
            self.slots[name] = slot
            await self._ends[name].wait()

    async def end(self, *names: str) -> None:
        for name in names:
            self._ends[name].set()
        await settle()

    async def end_all(self) -> None:
        for end in self._ends.values():
            end.set()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)
        assert (self.limiter.in_flight, self.limiter.waiting) == (0, 0)


async def settle() -> None:
    """Let everything happen that needs no time."""
    for _ in range(10):
        await asyncio.sleep(0)


async def begun(limiter: Limiter, *names: str, **call: Any) -> Calls:
    calls = Calls(limiter)
    for name in names:
        calls.begin(name, **call)
    await settle()
    return calls
