"""How long it takes to choose what a prompt shows, and to compare new items with known ones.

    python benchmarks/retrieval.py [ITEMS]

The texts are made of random words, so that nothing is alike: the slowest case. Set
OPENBLAS_NUM_THREADS=1 on a busy machine, or what is measured is the wait for a free core.
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from tmas_graph.memory.chroma import Where
from tmas_graph.memory.experience_bank import open_bank
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Changes, Entry, applied, rows_of, united
from tmas_graph.memory.retrieval import judged, offered, recalled
from tmas_graph.serde import serializer

NEW, FLAWS, TOKENS, REPEATS = 16, 24, 4000, 20


async def timed(what: str, work: Callable[[], Awaitable[object]]) -> None:
    """Print the median of some repetitions, and the least and greatest."""
    took = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        await work()
        took.append(1000 * (time.perf_counter() - begin))
    print(f"{what:45} {statistics.median(took):7.1f} ms  ({min(took):.1f} to {max(took):.1f})")


async def main(count: int) -> None:
    """Measure on a bank of so many items."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghilmnoprstu", k=6)) for _ in range(2000)]

    def item(number: int) -> Item:
        kind = rng.choice(("conclusion", "technique"))
        return Item(kind, f"{' '.join(rng.choices(words, k=12))} $= {number}$")

    known, new = [item(n) for n in range(count)], [item(count + n) for n in range(NEW)]
    wanted = [" ".join(rng.choices(words, k=15)) for _ in range(FLAWS)]
    with tempfile.TemporaryDirectory() as folder:
        bank = open_bank(Where(folder))
        await bank.write(known, problem="p", iteration=0)
        ledger = tuple(Entry(one.id, n % 20) for n, one in enumerate(known))
        memories = await recalled(bank, ledger)
        changes = Changes(added=tuple(new))

        async def compare() -> object:
            return await asyncio.to_thread(united, changes, known)

        await timed(f"read {count} items with vectors", lambda: recalled(bank, ledger))
        await timed("choose for a candidate", lambda: offered(bank, memories, wanted, TOKENS))
        await timed(
            "choose for the Experience agent", lambda: judged(bank, memories, wanted, TOKENS)
        )
        await timed(f"compare {NEW} new items with {count} known ones", compare)
        await bank.store.close()
    _, stored = serializer().dumps_typed(rows_of(applied(ledger, united(changes, known), 20)))
    print(
        f"the ledger in a checkpoint: {len(stored):,} bytes, {len(stored) // (count + NEW)} an item"
    )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300))
