"""The experience bank: items in a Chroma collection, found by similarity.

Which items exist is said by the ledger in the graph's state, never by the store: a fork, a
replay or another run on the same store never sees items that are not its own. The store holds what
never changes (kind, text, conditions, vector) under ids that are hashes of the content.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from tmas_graph.memory.chroma import Row, Store, Where, open_store
from tmas_graph.memory.embeddings import Embedder, Hashing
from tmas_graph.memory.items import Item, ItemKind

COLLECTION = "tmas-experience"


@dataclass(frozen=True, slots=True)
class Near:
    """An item that was found."""

    item: Item
    distance: float
    """Cosine distance from what was asked for, in [0, 2]."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An item as it is kept."""

    item: Item
    vector: Sequence[float]


@dataclass(frozen=True, slots=True)
class ExperienceBank:
    """The items of one store."""

    store: Store
    embedder: Embedder

    async def open(self) -> None:
        """Open the store now, and load what it needs, instead of when it is first used.

        Loading takes a second in which replies that come in are stored late.

        Raises:
            StorageError: the store can't be used.
        """
        await self.embedder.embed([""])
        await self.store.open(COLLECTION)

    async def write(self, items: Sequence[Item], *, problem: str, iteration: int) -> None:
        """Store `items`; a repeated write changes nothing.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        vectors = await self.embedder.embed([item.text for item in items])
        rows = [
            Row(item.id, item.text, _data(item, problem, iteration), vector)
            for item, vector in zip(items, vectors, strict=True)
        ]
        await self.store.write(COLLECTION, rows)

    async def read(self, ids: Sequence[str]) -> list[Item]:
        """The stored ones of `ids`, in that order."""
        found = await self.store.read(COLLECTION, ids)
        return [_item(found[id]) for id in dict.fromkeys(ids) if id in found]

    async def recall(self, ids: Sequence[str]) -> list[Stored]:
        """The stored ones of `ids` with their vectors, in that order."""
        found = await self.store.read(COLLECTION, ids, vectors=True)
        rows = [found[id] for id in dict.fromkeys(ids) if id in found]
        return [Stored(_item(row), row.vector) for row in rows]

    async def nearest(self, query: str, ids: Sequence[str]) -> list[Near]:
        """The stored items of `ids`, those nearest to `query` first."""
        if not ids:
            return []
        [vector] = await self.embedder.embed([query])
        near = [Near(_item(r), r.distance) for r in await self.store.query(COLLECTION, vector, ids)]
        return sorted(near, key=lambda one: (round(one.distance, 6), one.item.id))


def open_bank(where: Where, embedder: Embedder | None = None) -> ExperienceBank:
    """The bank at `where`; banks of one place share its store."""
    return ExperienceBank(open_store(where), embedder or Hashing())


def _data(item: Item, problem: str, iteration: int) -> dict[str, str | int | float | bool]:
    return {
        "kind": item.kind,
        "conditions": item.conditions,
        "problem": problem,
        "iteration": iteration,
    }


def _item(row: Row) -> Item:
    return Item(cast(ItemKind, row.data["kind"]), row.text, str(row.data.get("conditions", "")))
