"""The experience bank: items in a collection of a store, found by similarity.

Which items exist is said by the ledger in the graph's state, never by the store: a fork, a
replay or another run on the same store never sees items that are not its own. The store holds what
never changes (kind, text, conditions, vector) under ids that are hashes of the content.
"""

from array import array
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import cast

from tmas_graph.memory import same_vectors
from tmas_graph.memory.chroma import Row, Store, Where, open_store
from tmas_graph.memory.embeddings import Embedder, Hashing
from tmas_graph.memory.items import Item, ItemKind
from tmas_graph.memory.kept import Kept
from tmas_graph.memory.reembedding import reembed

COLLECTION = "tmas-experience"
HASHING = Hashing()
"""The embedder of who names no other."""


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
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)
    """Rows at hand."""

    async def open(self) -> None:
        """See that embedder and store can be used together, and load what they need.

        Loading takes a second in which replies that come in are stored late.

        Raises:
            StorageError: the store can't be used, or holds vectors of another embedder.
            CallError: the embedding server gives no vectors.
            MissingExtra: the embedder needs a package that isn't installed.
        """
        await self.embedder.embed([""])
        found = await self.store.open(COLLECTION)
        if found:
            same_vectors.refuse_other(self.store.where, found, same_vectors.about(self.embedder))

    @asynccontextmanager
    async def held(self, problem: str) -> AsyncIterator[None]:
        """Write to the store while the problem with this id is worked on.

        Then its rows are at hand no longer, and the store is closed if nobody else uses it.

        Raises:
            StorageError, CallError, MissingExtra: as `open`, or another process writes to it.
        """
        async with self.store.held():
            await self.store.claim()
            await self.open()
            try:
                yield
            finally:
                self.kept.drop(problem)

    async def write(self, items: Sequence[Item], *, problem: str, iteration: int) -> None:
        """Store `items`; a repeated write changes nothing.

        Raises:
            StorageError: the store can't be used, another process writes to the folder, or it
                holds vectors of another embedder.
            CallError: the embedding server gives no vectors.
        """
        if not items:
            return
        vectors = await self.embedder.embed([item.text for item in items])
        # As exact as the store keeps them, so that what is at hand equals what is read again; and
        # an eighth of a list's memory, through which the garbage collector needn't go.
        rows = [
            Row(item.id, item.text, _data(item, problem, iteration), array("f", vector))
            for item, vector in zip(items, vectors, strict=True)
        ]
        await self.store.write(COLLECTION, rows, same_vectors.about(self.embedder))
        self.kept.take(rows)

    async def read(self, ids: Sequence[str]) -> list[Item]:
        """The stored ones of `ids`, in that order."""
        found = self.kept.give(ids)
        away = [id for id in ids if id not in found]
        found |= await self.store.read(COLLECTION, away)
        return [item_of(found[id]) for id in dict.fromkeys(ids) if id in found]

    async def recall(self, ids: Sequence[str]) -> list[Stored]:
        """The stored ones of `ids` with their vectors, in that order."""
        found = await self._rows(ids)
        rows = [found[id] for id in dict.fromkeys(ids) if id in found]
        return [Stored(item_of(row), row.vector) for row in rows]

    async def missing(self, ids: Sequence[str]) -> list[str]:
        """Those of `ids` that the store doesn't have."""
        found = await self._rows(ids)
        return [id for id in dict.fromkeys(ids) if id not in found]

    async def vectors(self, items: Sequence[Item]) -> dict[str, Sequence[float]]:
        """Vectors by text: stored ones from the store, those of other items in one batch."""
        rows = await self._rows([item.id for item in items])
        found = {row.text: row.vector for row in rows.values()}
        texts = list(dict.fromkeys(item.text for item in items if item.text not in found))
        return found | dict(zip(texts, await self.embedder.embed(texts), strict=True))

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give all items vectors of this bank's embedder; broken off, it goes on the next time.

        Args:
            progress: called with how many have theirs, and how many there are.

        Returns:
            How many were given new vectors; 0 if they had them already.
        """
        async with self.store.held():
            count = await reembed(self.store, COLLECTION, self.embedder, progress)
        self.kept.clear()
        return count

    async def _rows(self, ids: Sequence[str]) -> dict[str, Row]:
        found = self.kept.give(ids)
        if away := [id for id in ids if id not in found]:
            if held := await self.store.open(COLLECTION):
                await self._measured()
                about = same_vectors.about(self.embedder)
                same_vectors.refuse_other(self.store.where, held, about)
            read = await self.store.read(COLLECTION, away, vectors=True)
            self.kept.take(read.values())
            found |= read
        return found

    async def _measured(self) -> None:
        if not self.embedder.dimension:
            await self.embedder.embed([""])


@cache
def open_bank(where: Where, embedder: Embedder = HASHING) -> ExperienceBank:
    """The bank at `where`; banks of one place share its store."""
    return ExperienceBank(open_store(where), embedder)


def open_reader(where: Where) -> ExperienceBank:
    """A bank of its own of what is at `where`, to read texts: it makes, mends and locks nothing."""
    return ExperienceBank(Store(where, writable=False), HASHING)


def _data(item: Item, problem: str, iteration: int) -> dict[str, str | int | float | bool]:
    return {
        "kind": item.kind,
        "conditions": item.conditions,
        "problem": problem,
        "iteration": iteration,
    }


def item_of(row: Row) -> Item:
    """The item that a row holds."""
    return Item(cast(ItemKind, row.data["kind"]), row.text, str(row.data.get("conditions", "")))
