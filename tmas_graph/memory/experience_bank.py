"""The experience bank: items in a Chroma collection, found by similarity.

Which items exist is said by the ledger in the graph's state, never by the store: a fork, a
replay or another run on the same store never sees items that are not its own. Chroma holds what
never changes (kind, text, conditions, vector) under ids that are hashes of the content.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from tmas_graph.errors import StorageError
from tmas_graph.memory.dedup import DEFAULT, Known, Same, Thresholds, decide, says_more
from tmas_graph.memory.embeddings import embed
from tmas_graph.memory.similarity import same_statement
from tmas_graph.state import digest

ItemKind = Literal["conclusion", "technique", "pitfall"]
_COLLECTION = "tmas-experience"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Item:
    """One low-level piece of experience."""

    kind: ItemKind
    text: str
    conditions: str = ""
    """When it holds, if not always."""

    @property
    def id(self) -> str:
        """Hash of the content: the same item is stored once, however often it is written."""
        conditions = (self.conditions,) if self.conditions else ()
        return digest(self.kind, self.text, *conditions)[:16]


@dataclass(frozen=True, slots=True)
class Near:
    """An item that was found."""

    item: Item
    distance: float
    """Cosine distance from what was asked for, in [0, 2]."""


class ExperienceBank:
    """The items of one Chroma store; one thread of its own does all the work on it."""

    def __init__(self, folder: str | None) -> None:
        """Use the store in `folder` (created when first needed), or one in memory."""
        self._folder = folder
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tmas-chroma")
        self._collection: Any = None

    async def open(self) -> None:
        """Open the store now, and load what it needs, instead of when it is first used.

        Loading takes a second in which replies that come in are stored late.

        Raises:
            StorageError: the folder can't be used.
        """
        await self._run(lambda: self._nearest("", ["none"]))

    async def write(self, items: Sequence[Item], *, problem: str, iteration: int) -> None:
        """Store `items`; a repeated write changes nothing.

        Raises:
            StorageError: the folder can't be used.
        """
        if items:
            await self._run(lambda: self._write(items, problem, iteration))

    async def read(self, ids: Sequence[str]) -> list[Item]:
        """The stored ones of `ids`, in that order."""
        distinct = list(dict.fromkeys(ids))
        found = await self._run(lambda: self._read(distinct)) if ids else {}
        return [found[i] for i in distinct if i in found]

    async def nearest(self, query: str, ids: Sequence[str]) -> list[Near]:
        """The stored items of `ids`, those nearest to `query` first."""
        if not ids:
            return []
        distinct = list(dict.fromkeys(ids))
        return await self._run(lambda: self._nearest(query, distinct))

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._guarded, work)

    def _guarded(self, work: Callable[[], _T]) -> _T:
        from chromadb.errors import ChromaError  # noqa: PLC0415  (takes a second to load)

        try:
            return work()
        except (ChromaError, OSError, ValueError) as error:
            raise StorageError(
                f"memory: {self._folder or 'the store in memory'} can't be used ({error}). "
                "Set memory_folder to a writable folder."
            ) from error

    def _write(self, items: Sequence[Item], problem: str, iteration: int) -> None:
        distinct = list({item.id: item for item in items}.values())
        self._open().upsert(
            ids=[item.id for item in distinct],
            documents=[item.text for item in distinct],
            embeddings=embed([item.text for item in distinct]),
            metadatas=[
                {
                    "kind": item.kind,
                    "conditions": item.conditions,
                    "problem": problem,
                    "iteration": iteration,
                }
                for item in distinct
            ],
        )

    def _read(self, ids: Sequence[str]) -> dict[str, Item]:
        found = self._open().get(ids=list(ids), include=["documents", "metadatas"])
        return dict(zip(found["ids"], _items(found["documents"], found["metadatas"]), strict=True))

    def _nearest(self, query: str, ids: Sequence[str]) -> list[Near]:
        # A query for an id that isn't there fails, so ask first which ones are.
        known = self._open().get(ids=list(ids), include=[])["ids"]
        vectors = embed([query])
        if not known:
            return []
        found = self._open().query(
            query_embeddings=vectors,
            ids=known,
            n_results=len(known),
            include=["documents", "metadatas", "distances"],
        )
        items = _items(found["documents"][0], found["metadatas"][0])
        near = map(Near, items, found["distances"][0])
        return sorted(near, key=lambda one: (round(one.distance, 6), one.item.id))

    def _open(self) -> Any:
        if self._collection is None:
            self._collection = _collection(self._folder)
        return self._collection


@cache
def open_bank(folder: str | None = None) -> ExperienceBank:
    """The bank in `folder`, or in memory; one object per folder and process."""
    return ExperienceBank(folder)


def new_items(
    items: Iterable[Item],
    known: Iterable[Item],
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    thresholds: Thresholds = DEFAULT,
) -> list[Item]:
    """Those of `items` that neither `known` nor another one says already.

    One that says all of another and more takes its place among `items`; beside `known`, which is
    left as it is, it counts as new.

    Args:
        items: in the order in which they shall be kept.
        known: what is in the bank.
        vectors: unit vectors of all texts, by text; none: hashed ones.
        thresholds: how alike two near-duplicates must be, which depends on the embedder.
    """
    items, old = list(items), list(known)
    read = _reader([*old, *items], vectors)
    seen = [(item, read(item)) for item in old]
    fresh: list[tuple[Item, Known]] = []
    for item in items:
        new = read(item)
        rivals = [what for other, what in (*seen, *fresh) if _comparable(item, other)]
        if any(_said(new, what, thresholds) for what in rivals):
            continue
        fresh = [(o, w) for o, w in fresh if not (_comparable(item, o) and says_more(new, w))]
        fresh.append((item, new))
    return [item for item, _ in fresh]


def _reader(
    items: Sequence[Item], vectors: Mapping[str, Sequence[float]] | None
) -> Callable[[Item], Known]:
    if vectors is None:
        texts = list(dict.fromkeys(item.text for item in items))
        vectors = dict(zip(texts, embed(texts), strict=True))
    of_text = {text: Known.of(text, vector) for text, vector in vectors.items()}
    return lambda item: of_text[item.text]


def _said(new: Known, old: Known, thresholds: Thresholds) -> bool:
    """Whether the old one says all that the new one does."""
    return isinstance(decide(new, old, thresholds), Same) and not says_more(new, old)


def _comparable(one: Item, other: Item) -> bool:
    """Whether two items may say the same: of one kind, and under the same conditions."""
    return one.kind == other.kind and same_statement(one.conditions, other.conditions)


def _items(documents: Sequence[str], metadatas: Sequence[Any]) -> list[Item]:
    return [
        Item(cast(ItemKind, metadata["kind"]), text, metadata.get("conditions", ""))
        for text, metadata in zip(documents, metadatas, strict=True)
    ]


def _collection(folder: str | None) -> Any:
    import chromadb  # noqa: PLC0415  (takes a second to load)
    from chromadb.config import Settings  # noqa: PLC0415

    quiet = Settings(anonymized_telemetry=False)
    if folder is None:
        client = chromadb.EphemeralClient(settings=quiet)
    else:
        Path(folder).mkdir(parents=True, exist_ok=True)
        client = chromadb.PersistentClient(path=folder, settings=quiet)
    # Without a function of its own Chroma would download a model; all vectors are given here.
    return client.get_or_create_collection(
        _COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
