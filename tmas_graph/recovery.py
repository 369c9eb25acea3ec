"""Items whose texts the store has lost come back from the thread's checkpoints.

A store may be deleted, damaged, in the memory of a process that ended, or on another machine.
Each checkpoint holds the items that were noted in its iteration, so all of a thread's together
hold every one, those of other branches included.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.types import StreamWriter

from tmas_graph.errors import StorageError
from tmas_graph.memory.experience_bank import ExperienceBank
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.opening import reader_of
from tmas_graph.memory.writer_lock import is_taken
from tmas_graph.memory_settings import Memories

_log = logging.getLogger(__name__)
_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def restore(
    bank: ExperienceBank,
    ledger: Sequence[Entry],
    problem: str,
    tell: StreamWriter,
    *,
    depth: int = 1,
) -> None:
    """Write the items of `ledger` again that `bank` has lost; called within a node.

    What can't be found is told of and logged, and not looked for again.

    Args:
        bank: where they should be.
        ledger: which ones there are.
        problem: its id.
        tell: takes the events.
        depth: how far the node is below the graph whose state the ledger is in.
    """
    ids = [entry.id for entry in ledger]
    if await _missing(bank, ids):
        # The candidates of an iteration miss the same items at the same time.
        async with _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if missing := await _missing(bank, ids):
                await _search(bank, ledger, problem, missing, depth)
    for said in bank.store.notices():
        tell({"event": "memory", "cause": said})


async def texts_of(
    settings: Memories, ids: Sequence[str], saver: BaseCheckpointSaver[Any], thread: str
) -> dict[str, Item]:
    """Those of `ids` that can be found anywhere, by id; nothing is made, mended or locked.

    Raises:
        StorageError: some aren't in the checkpoints, and the store can't be read.
    """
    bank, found, failure = reader_of(settings), dict[str, Item](), None
    path = bank.store.where.path
    # To read a folder that another process writes to makes Chroma write, too.
    if not path or not await asyncio.to_thread(is_taken, path):
        try:
            found = {item.id: item for item in await bank.read(ids)}
        except StorageError as error:
            failure = error
        await bank.store.close()
    if left := set(ids) - found.keys():
        found |= await items_in(saver, thread, left)
    if failure and set(ids) - found.keys():
        raise failure
    return found


async def items_in(
    saver: BaseCheckpointSaver[Any], thread: str, ids: Collection[str], *, namespace: str = ""
) -> dict[str, Item]:
    """Those of `ids` that the checkpoints of `thread` hold, by id."""
    at: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
    found: dict[str, Item] = {}
    async with aclosing(cast(Any, saver.alist(at))) as checkpoints:
        async for stored in checkpoints:
            rows = stored.checkpoint["channel_values"].get("noted", ())
            items = [Item(*row) for row in rows]
            found |= {item.id: item for item in items if item.id in ids}
            if len(found) == len(ids):
                break
    return found


def namespace(place: Mapping[str, Any], *, depth: int) -> str:
    """Of the checkpoints of the graph that is `depth` above the node that runs at `place`."""
    return "|".join(place["checkpoint_ns"].split("|")[:-depth])


async def _missing(bank: ExperienceBank, ids: Sequence[str]) -> set[str]:
    return set(await bank.missing(ids)) - bank.kept.lost


async def _search(
    bank: ExperienceBank, ledger: Sequence[Entry], problem: str, missing: set[str], depth: int
) -> None:
    place = get_config()["configurable"]
    found: dict[str, Item] = {}
    if saver := place.get("__pregel_checkpointer"):
        above = namespace(place, depth=depth)
        found = await items_in(saver, place["thread_id"], missing, namespace=above)
    await bank.vectors(list(found.values()))  # of all in one batch; they are remembered
    for t in sorted({entry.iteration for entry in ledger if entry.id in found}):
        items = [found[e.id] for e in ledger if e.iteration == t and e.id in found]
        await bank.write(items, problem=problem, iteration=t)
    if found:
        _log.info("memory: %d items were written to %s again", len(found), bank.store.where)
    if lost := missing - found.keys():
        bank.kept.lost |= lost
        bank.store.note(
            f"memory: {len(lost)} items are neither in {bank.store.where} nor in the checkpoints "
            "of this thread. They are not shown any more; bring the store back from a copy."
        )
