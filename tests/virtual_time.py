"""An event loop whose time passes only while everybody sleeps: minutes take no time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_TICK = 1e-6
"""What is added to a sleep, so that its end isn't missed by a rounding error."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Sleeps in no time; fails where nothing would ever wake it."""

    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now


class _Selector(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits and nobody will ever be woken")
        if timeout > 0:
            self._loop.now += timeout + _TICK
        return super().select(0)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def now() -> float:
    return asyncio.get_running_loop().time()
