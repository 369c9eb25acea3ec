"""Waiting for several things at once, and not leaving any behind."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")


async def all_of(work: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Give all results in order; after the first failure the others are cancelled.

    Unlike a TaskGroup it raises the failure itself, which callers tell by its kind.
    """
    tasks = [asyncio.create_task(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class OneThread:
    """A thread for what takes long, so that the event loop goes on meanwhile.

    For tensors it must always be the same one: ranks enter their collectives in one order.
    """

    def __init__(self, name: str, start: Callable[[], object] = lambda: None) -> None:
        """Start no thread yet; the first thing that it does is `start`."""
        self._pool = ThreadPoolExecutor(1, name, initializer=start)

    async def run(self, work: Callable[[], _T]) -> _T:
        """Do `work` there; a cancellation waits until it is done, for it can't be broken off."""
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()
