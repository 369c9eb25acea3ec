"""Decide on the labelled pairs of statements: what is found, what is merged wrongly, how fast.

    python benchmarks/dedup.py [FOLDER …]

The hashing embedder always runs. Each FOLDER is a sentence-transformers model (it needs the extra
`embeddings`). Without one, the package `wordllama` and a folder that the variable
`TMAS_SENTENCE_MODEL` names are tried too. "cosine alone" is what published code does: texts whose
vectors have a cosine above 0.8 are one.
"""

import asyncio
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tmas_graph.memory.dedup import BY_MEANING, DEFAULT, Decision, Different, Known, Same, decide
from tmas_graph.memory.embeddings import Embedder, Hashing, Remembered
from tmas_graph.memory.guards import statement
from tmas_graph.memory.sense import sense
from tmas_graph.memory.sentence_model import SentenceModel

Pair = dict[str, Any]
PAIRS = Path(__file__).parents[1] / "tests" / "cases" / "pairs.jsonl"
KNOWN = 200
ALONE = 0.8


class WordLlama:
    """The word vectors that the package wordllama carries in its wheel."""

    knows_meaning = True

    def __init__(self) -> None:
        """Load them; nothing is downloaded.

        Raises:
            ImportError: the package isn't installed.
        """
        import wordllama  # noqa: PLC0415

        package = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=package, disable_download=True)
        self.name, self.dimension = "wordllama", 256
        self._remembered = Remembered(self._ask, batch=64)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`."""
        return await self._remembered.embed(texts)

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        rows: list[list[float]] = self._model.embed(list(texts)).tolist()
        return rows


def embedders(folders: Sequence[str]) -> list[Embedder]:
    """Those that are there."""
    found: list[Embedder] = [Hashing()]
    given = list(folders) or [f for f in [os.environ.get("TMAS_SENTENCE_MODEL")] if f]
    found += [SentenceModel(folder) for folder in given]
    try:
        found.append(WordLlama())
    except (ImportError, OSError):
        print("wordllama isn't there: its column is left out")
    return found


async def read(pairs: Sequence[Pair], embedder: Embedder) -> list[tuple[Known, Known]]:
    """Both texts of each pair, with their vectors."""
    sides = []
    for side in ("a", "b"):
        texts = [pair[side] for pair in pairs]
        sides.append(list(map(Known.of, texts, await embedder.embed(texts))))
    return list(zip(*sides, strict=True))


def found(
    pairs: Sequence[Pair],
    decisions: Sequence[Decision],
    *,
    batch: set[str] | None = None,
    **wanted: Any,
) -> str:
    """How many pairs with these fields were merged, of all of them."""
    chosen = [
        isinstance(decision, Same)
        for pair, decision in zip(pairs, decisions, strict=True)
        if (batch is None or pair["id"] in batch)
        and all(pair[key] == value for key, value in wanted.items())
    ]
    return f"{sum(chosen)}/{len(chosen)}" if chosen else ""


def _batches(pairs: Sequence[Pair]) -> dict[str, set[str]]:
    """Names of pairs by what was known of them when the rules were written."""
    batches: dict[str, set[str]] = {}
    for pair in pairs:
        first = pair["id"].partition("-")[0]
        old = "held out, then tuned on" if pair["held_out"] else "tuned on"
        name = {"fresh": "fresh: tuned on after a first look", "sealed": "sealed: never tuned on"}
        batches.setdefault(name.get(first, old), set()).add(pair["id"])
    return batches


def by_kind(pairs: Sequence[Pair], said: dict[str, list[Decision]]) -> Table:
    """Merges by kind of pair; of different ones none must be."""
    table = Table("kind", "should merge", *said, title="merged, of all pairs of the kind")
    kinds = dict.fromkeys((pair["kind"], pair["same"]) for pair in pairs)
    for kind, same in kinds:
        counts = [found(pairs, decisions, kind=kind, same=same) for decisions in said.values()]
        table.add_row(kind, "yes" if same else "no", *counts)
    for name, batch in _batches(pairs).items():
        counts = [found(pairs, d, batch=batch, kind="reworded") for d in said.values()]
        table.add_row(f"reworded, {name}", "yes", *counts)
    return table


def by_stage(pairs: Sequence[Pair], said: dict[str, list[Decision]]) -> Table:
    """What told: the stage that merges, or the guard that keeps apart."""
    table = Table("told by", *said, title="same pairs / different pairs, by what told")
    counts = {
        name: Counter(
            (d.stage if isinstance(d, Same) else d.reason, pair["same"])
            for pair, d in zip(pairs, decisions, strict=True)
        )
        for name, decisions in said.items()
    }
    for what in dict.fromkeys(what for count in counts.values() for what, _ in count):
        cells = [f"{count[what, True]} / {count[what, False]}" for count in counts.values()]
        table.add_row(what, *cells)
    return table


async def costs(pairs: Sequence[Pair], embedder: Embedder) -> list[str]:
    """Milliseconds for one new text beside `KNOWN` that are read; and for one comparison."""
    texts = list(dict.fromkeys(pair[side] for side in ("a", "b") for pair in pairs))
    known = list(map(Known.of, texts[:KNOWN], await embedder.embed(texts[:KNOWN])))
    whole = []
    for text in texts[KNOWN : KNOWN + 30]:
        statement.cache_clear()
        sense.cache_clear()
        start = time.perf_counter()
        new = Known.of(text, (await embedder.embed([f"{text} "]))[0])
        for old in known:
            decide(new, old, BY_MEANING if embedder.knows_meaning else DEFAULT)
        whole.append(1000 * (time.perf_counter() - start))
    return [f"{statistics.median(whole):.1f}", f"{statistics.median(whole) / KNOWN:.3f}"]


async def main(folders: Sequence[str]) -> None:
    """Print the tables."""
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    said: dict[str, list[Decision]] = {}
    speed = Table("embedder", f"ms, new beside {KNOWN}", "ms a comparison")
    for embedder in embedders(folders):
        name = Path(embedder.name).name
        both = await read(pairs, embedder)
        thresholds = BY_MEANING if embedder.knows_meaning else DEFAULT
        said[name] = [decide(a, b, thresholds) for a, b in both]
        cosines = [float(a.vector @ b.vector) for a, b in both]
        said[f"{name}, cosine alone"] = [
            Same("near", c) if c > ALONE else Different("likeness") for c in cosines
        ]
        speed.add_row(name, *await costs(pairs, embedder))
    console = Console(width=150)
    for table in (by_kind(pairs, said), by_stage(pairs, said), speed):
        console.print(table)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
