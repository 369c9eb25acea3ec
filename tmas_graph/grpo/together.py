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
    """The thread in which all tensors are worked on, so that the event loop goes on meanwhile.

    It is always the same one: ranks must enter their collectives in one order.
    """

    def __init__(self) -> None:
        """Start no thread yet."""
        self._pool = ThreadPoolExecutor(1, "training")

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
