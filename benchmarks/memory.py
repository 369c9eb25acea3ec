"""The experience bank at 10 000 items: how fast it takes items in and finds them again.

    python benchmarks/memory.py [--problems 100] [--items 100]

Many problems share one persistent store; each has a ledger of its own. They write at once, four
items at a time, and then choose what a prompt shows, as a run does. "given" vectors cost nothing to
make; "hashing" includes what the default embedder does. "cold" is a first look, for which the rows
are read, "warm" a later one. The pause is the longest time for which the event loop stood still,
beside that of a loop on which nothing runs; "collector" is the part of it that is one round of
Python's garbage collector. "in process" is Chroma without a process of its own.
"""

import argparse
import asyncio
import gc
import random
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

from tmas_graph.memory.chroma import Store, Where
from tmas_graph.memory.chroma_client import Client
from tmas_graph.memory.embeddings import DIMENSION, Embedder, Hashing
from tmas_graph.memory.experience_bank import ExperienceBank
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import offered, recalled

BATCH = 4
LOOKS = 100
TOKENS = 4000
Connect = Callable[[Where], Client]
WORDS = ("use", "the", "sum", "of", "odd", "even", "prime", "divisor", "modulo", "bound", "graph")


class Given:
    """Random vectors, made beforehand."""

    name, dimension = "given", DIMENSION

    def __init__(self) -> None:
        """Draw some."""
        import numpy as np  # noqa: PLC0415

        self._rows = np.random.default_rng(0).normal(size=(512, DIMENSION)).tolist()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One for each text."""
        return [self._rows[hash(text) % len(self._rows)] for text in texts]


@dataclass(slots=True)
class Pauses:
    """How long the event loop stood still, at most."""

    longest: float = 0.0
    collector: float = 0.0
    """The longest round of the garbage collector."""
    kept: asyncio.Task[None] | None = field(default=None, repr=False)

    async def measure(self) -> None:
        """Measure until cancelled; a tick is a millisecond."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.longest = max(self.longest, time.perf_counter() - began - 0.001)


@asynccontextmanager
async def pauses() -> AsyncIterator[Pauses]:
    """Measure the loop's longest pause meanwhile."""
    meter, began = Pauses(), 0.0

    def collecting(phase: str, _: object) -> None:
        nonlocal began
        if phase == "start":
            began = time.perf_counter()
        else:
            meter.collector = max(meter.collector, time.perf_counter() - began)

    gc.callbacks.append(collecting)
    task = asyncio.create_task(meter.measure())
    await asyncio.sleep(0.01)
    try:
        yield meter
    finally:
        task.cancel()
        gc.callbacks.remove(collecting)


async def timed(looks: Sequence[Callable[[], Awaitable[Any]]]) -> list[float]:
    """Milliseconds of each, one after another, sorted."""
    times = []
    for look in looks:
        began = time.perf_counter()
        await look()
        times.append(1e3 * (time.perf_counter() - began))
    return sorted(times)


def spread(times: list[float]) -> str:
    """The median and the time within which 95 % are."""
    return f"{times[len(times) // 2]:.1f} / {times[int(len(times) * 0.95)]:.1f}"


async def measured(
    embedder: Embedder, ledgers: list[list[Item]], store: Store, name: str
) -> list[str]:
    """A line of the table."""
    bank = ExperienceBank(store, embedder)
    await bank.open()
    await bank.store.claim()
    gc.collect()
    gc.freeze()  # as `tmas run` does once all is loaded
    async with pauses() as idle:
        await asyncio.sleep(2)

    async def write(problem: int, items: list[Item]) -> None:
        for start in range(0, len(items), BATCH):
            await bank.write(items[start : start + BATCH], problem=f"p{problem}", iteration=start)

    began = time.perf_counter()
    async with pauses() as busy:
        await asyncio.gather(*(write(i, items) for i, items in enumerate(ledgers)))
    rate = sum(map(len, ledgers)) / (time.perf_counter() - began)
    entries = [tuple(Entry(item.id, n // BATCH) for n, item in enumerate(of)) for of in ledgers]
    asked = random.Random(2).choices(entries, k=LOOKS)

    async def look(ledger: tuple[Entry, ...]) -> None:
        await offered(bank, await recalled(bank, ledger), ["the sum of odd squares"], TOKENS)

    async def cold(ledger: tuple[Entry, ...]) -> None:
        bank.kept.clear()
        await look(ledger)

    await cold(asked[0])  # after which the index is loaded
    first = await timed([lambda some=some: cold(some) for some in asked])
    await asyncio.gather(*map(look, asked))
    later = await timed([lambda some=some: look(some) for some in asked])
    async with pauses() as finding:
        bank.kept.clear()
        await asyncio.gather(*map(look, asked))
    await bank.store.close()
    still = [
        f"{1e3 * seconds:.0f}"
        for seconds in (idle.longest, busy.longest, busy.collector, finding.longest)
    ]
    return [name, f"{rate:.0f}", *map(spread, (first, later)), *still]


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--items", type=int, default=100)
    given = parser.parse_args()
    rng = random.Random(1)
    ledgers = [
        [
            Item("technique", f"{p}.{i} " + " ".join(rng.choices(WORDS, k=20)))
            for i in range(given.items)
        ]
        for p in range(given.problems)
    ]
    table = Table(title=f"{given.problems} problems, {given.problems * given.items} items")
    table.add_column("vectors")
    for head in (
        "items written/s",
        "cold, ms p50/p95",
        "warm, ms p50/p95",
        "pause idle, ms",
        "while 100 write, ms",
        "of it collector, ms",
        "while 100 look, ms",
    ):
        table.add_column(head, justify="right")
    rows: tuple[tuple[Embedder, Connect | None, str], ...] = (
        (Given(), None, "given"),
        (Hashing(), None, "hashing"),
        (Given(), Client, "given, in process"),
    )
    for embedder, connect, name in rows:
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Where(folder), connect=connect)
            table.add_row(*await measured(embedder, ledgers, store, name))
    Console().print(table)


if __name__ == "__main__":
    asyncio.run(main())
