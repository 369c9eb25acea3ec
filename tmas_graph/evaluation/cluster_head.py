"""Watches a cluster's head: where it is gone, no worker's end is heard of, and none begins."""

import asyncio
import socket
from collections.abc import Coroutine
from typing import Any

from tmas_graph.errors import ClusterGone

_KNOCK = 10.0
"""Seconds in which its port must answer."""
_HEADLESS = 20.0
"""Seconds without an answer that end the run."""
_LOOK = 2.0
"""Seconds between looks."""


async def while_headed(work: Coroutine[Any, Any, None], head: tuple[str, int]) -> None:
    """Do `work` while the cluster's head is there.

    A minute after it is gone Ray ends this process, without a word of ours and the books open.

    Raises:
        ClusterGone: it is gone.
    """
    working = asyncio.create_task(work)
    loop = asyncio.get_running_loop()
    seen = loop.time()
    try:
        while not (await asyncio.wait([working], timeout=_LOOK))[0]:
            if await asyncio.to_thread(answers, head):
                seen = loop.time()
            elif loop.time() > seen + _HEADLESS:
                raise ClusterGone(
                    f"run: the cluster's head at {head[0]}:{head[1]} is gone. "
                    "Start the cluster anew, then resume."
                )
        await working
    finally:
        working.cancel()
        await asyncio.wait([working])


def answers(place: tuple[str, int]) -> bool:
    """Whether something listens there."""
    try:
        knock(place)
    except OSError:
        return False
    return True


def knock(place: tuple[str, int]) -> None:
    """Make sure that something listens at `place`.

    Raises:
        OSError: nothing does.
    """
    socket.create_connection(place, timeout=_KNOCK).close()
