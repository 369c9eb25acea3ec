"""The library: what problems of many runs have learnt, each item with where it is from.

It is a collection of its own beside the experience bank's. A row belongs to one problem of one run,
so that nothing another one publishes changes its provenance; published again it is replaced, so
that a repeat changes nothing. Forks of one run share their rows: who publishes last is told of.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from tmas_graph.memory import same_vectors
from tmas_graph.memory.chroma import Data, Filter, Row, Store, open_store
from tmas_graph.memory.chroma_client import SEARCHED
from tmas_graph.memory.embeddings import Embedder
from tmas_graph.memory.items import Item, ItemKind
from tmas_graph.memory.ledger import Entry, Status
from tmas_graph.memory.opening import embedder_of, where
from tmas_graph.memory.reembedding import reembed
from tmas_graph.memory_settings import Memories
from tmas_graph.state import Problem, digest

COLLECTION = SEARCHED
_DELETED = "deleted"
"""Says in the collection's metadata that items were deleted: what is missing isn't lost."""
FOLDER = "library"
"""Where threads that share keep it, below their state folder."""
LONGEST_QUESTION = 200
"""Characters of a question that stand with what its problem taught."""
_LATE = ("question", "thread", "time")
"""What rows that an earlier version wrote don't say."""
_BATCH = 500
"""Rows that are embedded and written at once."""
Progress = Callable[[int, int], None]
"""Told how many of how many are done."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where items are from."""

    problem: str = ""
    """Id of the problem; empty: of none."""
    run: str = ""
    """Name of the run; empty: it had none."""
    question: str = ""
    """How the problem begins, on one line."""
    thread: str = ""
    """Name of the thread; empty: not known."""

    @classmethod
    def of(cls, problem: Problem, run: str = "", thread: str = "") -> "Origin":
        """What there is to say of `problem`, as `thread` of `run` works on it."""
        whole = problem.question.encode(errors="backslashreplace").decode()  # else Chroma fails
        return cls(problem.id, run, " ".join(whole.split())[:LONGEST_QUESTION], thread)


@dataclass(frozen=True, slots=True)
class Published:
    """An item with where it is from, and how it stood there."""

    item: Item
    problem: str = ""
    """Id of the problem; empty: of none."""
    run: str = ""
    """Name of the run; empty: it had none."""
    iteration: int = 0
    status: Status = "open"
    support: int = 0
    contradictions: int = 0
    reason: str = ""
    """Why it was refuted."""
    question: str = ""
    """How the problem begins; empty: not known."""
    thread: str = ""
    """Name of the thread that published it last; empty: not known."""
    time: str = ""
    """When it was first published, in ISO 8601 and UTC; empty: not known."""

    @classmethod
    def of(cls, item: Item, entry: Entry, origin: Origin, time: str = "") -> "Published":
        """`item` as the ledger's `entry` says that it stands."""
        return cls(
            item,
            origin.problem,
            origin.run,
            entry.iteration,
            entry.status,
            entry.support,
            entry.contradictions,
            entry.reason,
            origin.question,
            origin.thread,
            time,
        )

    @property
    def id(self) -> str:
        """Hash of the item's content, and of where it is from."""
        return f"{self.item.id}-{digest(self.run, self.problem)[:8]}"


@dataclass(frozen=True, slots=True)
class Found:
    """A published item that was searched for."""

    published: Published
    distance: float
    """Cosine distance from what was asked for, in [0, 2]."""


@dataclass(frozen=True, slots=True)
class Library:
    """The published items of one store."""

    store: Store
    embedder: Embedder

    async def claim(self) -> None:
        """Be the one who writes here, so that what forbids it is found before anything is paid.

        Raises:
            StorageError: another process writes to the folder, or it holds other vectors.
            CallError: the embedding server gives no vectors.
        """
        await self.store.claim()
        await self._about()

    async def write(self, items: Sequence[Published]) -> None:
        """Publish `items`; one that was published before is replaced.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        about = await self._about()
        for begin in range(0, len(items), _BATCH):
            batch = items[begin : begin + _BATCH]
            vectors = await self.embedder.embed([one.item.text for one in batch])
            rows = [
                Row(one.id, one.item.text, data_of(one), vector)
                for one, vector in zip(batch, vectors, strict=True)
            ]
            await self.store.write(COLLECTION, rows, about)

    async def nearest(self, query: str, meant: Filter, count: int) -> list[Found]:
        """Up to `count` of the items `meant`, those nearest to `query` first."""
        await self._about()
        [vector] = await self.embedder.embed([query])
        rows = await self.store.search(COLLECTION, vector, meant, count)
        return [Found(_published(row), row.distance) for row in rows]

    async def find(self, meant: Filter | None = None) -> list[Published]:
        """The items `meant`, or all, in the order in which they were first published."""
        return list(map(_published, await self.store.find(COLLECTION, meant or Filter())))

    async def ids(self) -> list[str]:
        """The ids of all items."""
        return await self.store.ids(COLLECTION)

    async def read(self, ids: Iterable[str]) -> list[Published]:
        """The published ones of `ids`."""
        return list(map(_published, (await self.store.read(COLLECTION, list(ids))).values()))

    async def remove(self, ids: Sequence[str]) -> None:
        """Delete the items `ids`.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        if ids and (about := await self.store.open(COLLECTION)):
            await self.store.describe(COLLECTION, {**about, _DELETED: True})
            await self.store.remove(COLLECTION, ids)

    async def lost(self, ids: Sequence[str]) -> set[str]:
        """Those of the published `ids` that are gone, though nobody deleted anything here."""
        if (await self.store.open(COLLECTION)).get(_DELETED):
            return set()
        return set(ids) - set(await self.store.read(COLLECTION, ids))

    async def embedded_by(self) -> str:
        """Name of the embedder whose vectors are here; empty if there is no library."""
        return str((await self.store.open(COLLECTION)).get("embedder", ""))

    async def reembed(self, progress: Progress | None = None) -> int:
        """Give all items vectors of this embedder; broken off, it goes on the next time.

        Returns:
            How many were given new vectors; 0 if they had them already.
        """
        return await reembed(self.store, COLLECTION, self.embedder, progress)

    async def _about(self) -> Data:
        """What the collection's metadata must say, so that its vectors can be compared."""
        if not self.embedder.dimension:
            await self.embedder.embed([""])
        wanted = same_vectors.about(self.embedder)
        if found := await self.store.open(COLLECTION):
            same_vectors.refuse_other(self.store.where, found, wanted)
        return wanted


def library_of(settings: Memories) -> Library:
    """The library that `settings` ask for; it shares its store with their experience bank."""
    return Library(open_store(where(settings)), embedder_of(settings.embeddings))


def library_to_read(settings: Memories) -> Library:
    """The library that `settings` ask for, of which nothing is made, mended or locked."""
    return Library(Store(where(settings), writable=False), embedder_of(settings.embeddings))


def data_of(one: Published) -> Data:
    """What stands beside the text of `one` in its row."""
    return {
        "kind": one.item.kind,
        "conditions": one.item.conditions,
        "problem": one.problem,
        "run": one.run,
        "iteration": one.iteration,
        "status": one.status,
        "support": one.support,
        "contradictions": one.contradictions,
        "reason": one.reason,
        "question": one.question,
        "thread": one.thread,
        "time": one.time,
    }


def _published(row: Row) -> Published:
    data = row.data
    return Published(
        Item(cast(ItemKind, data["kind"]), row.text, str(data["conditions"])),
        str(data["problem"]),
        str(data["run"]),
        int(data["iteration"]),
        cast(Status, data["status"]),
        int(data["support"]),
        int(data["contradictions"]),
        str(data["reason"]),
        *(str(data.get(name, "")) for name in _LATE),
    )
