"""How many of the truly nearest items a library of 10 000 finds, and how fast.

    python benchmarks/library.py [--items 10000] [--queries 50]

Items are sentences about mathematics, made of a small vocabulary so that many are alike, by 100
problems in 7 runs. Each query is a new such text. Asked are the 50 nearest techniques and pitfalls
of other problems, of all runs and of one; the truth is a search through all vectors.
"""

import argparse
import asyncio
import random
import re
import time
from statistics import mean, median
from tempfile import TemporaryDirectory

import numpy as np
from rich.console import Console
from rich.table import Table

from tmas_graph.memory.borrowing import others
from tmas_graph.memory.chroma import Store, Where
from tmas_graph.memory.embeddings import Hashing, embed
from tmas_graph.memory.items import KINDS, Item
from tmas_graph.memory.library import Library, Published
from tmas_graph.memory_settings import Memories

WANTED = 50
PROBLEMS, RUNS = 100, 7
WORDS = re.findall(
    r"\w+",
    "factor substitute bound induct count pair order colour reflect "
    "iterate parity residue prime divisor exponent square root circle "
    "tangent angle median vertex edge path cycle matching polynomial "
    "coefficient degree sum product sequence limit ratio inequality mean "
    "symmetric convex linear modular binomial recursive invariant extremal ",
)


def text(rng: random.Random) -> str:
    """A sentence with a formula."""
    words = rng.choices(WORDS, k=rng.randint(8, 16))
    return f"{' '.join(words)} $x_{rng.randint(1, 30)}^{rng.randint(2, 9)}$"


def published(count: int, rng: random.Random) -> list[Published]:
    """So many items of all kinds."""
    return [
        Published(
            Item(rng.choice(KINDS), f"{text(rng)} ({number})"),
            f"p{rng.randrange(PROBLEMS)}",
            f"r{rng.randrange(RUNS)}",
        )
        for number in range(count)
    ]


async def measured(library: Library, items: list[Published], queries: list[str]) -> Table:
    """Recall and time of each scope."""
    vectors = np.asarray(embed([one.item.text for one in items]), dtype=np.float32)
    table = Table("scope", "items meant", "recall of 50", "ms, median", "ms, worst", box=None)
    for given in (
        Memories(memory_scope="library"),
        Memories(memory_scope="run", run_name="r1"),
    ):
        meant = others(given, "p1")
        right = [
            i
            for i, one in enumerate(items)
            if one.item.kind != "conclusion"
            and one.problem != "p1"
            and one.run == meant.equal.get("run", one.run)
        ]
        recalls, times = [], []
        for query in queries:
            asked = np.asarray(embed([query])[0], dtype=np.float32)
            nearest = np.argsort(-(vectors[right] @ asked))[:WANTED]
            truth = {items[right[i]].id for i in nearest}
            begun = time.perf_counter()
            found = await library.nearest(query, meant, WANTED)
            times.append(1000 * (time.perf_counter() - begun))
            recalls.append(len({one.published.id for one in found} & truth) / len(truth))
        cells = (f"{mean(recalls):.3f}", f"{median(times):.0f}", f"{max(times):.0f}")
        table.add_row(given.memory_scope, str(len(right)), *cells)
    return table


async def main(count: int, queries: int) -> None:
    """Fill a library in a folder of its own, and measure it."""
    rng = random.Random(0)
    items = published(count, rng)
    with TemporaryDirectory() as folder:
        library = Library(Store(Where(folder)), Hashing())
        begun = time.perf_counter()
        await library.write(items)
        seconds = time.perf_counter() - begun
        table = await measured(library, items, [text(rng) for _ in range(queries)])
        await library.store.close()
    console = Console()
    console.print(f"{count} items written in {seconds:.1f} s")
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    asyncio.run(main(options.items, options.queries))
