"""Chroma, and nothing else that knows it: rows of text with their vectors, in named collections.

A store is in memory, in a folder, or behind a Chroma server. A folder has one writer process: the
lock is taken with the first write and freed when the store is closed or the process ends, however
it ends. Reading needs none.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from tmas_graph.errors import StorageError

_LOCK = "tmas.lock"
_DATABASE = "chroma.sqlite3"
_BATCH = 1000
"""Rows that are deleted at once."""
_OVERFETCH = 4
_LEAST_FETCHED = 200
"""A search asks for so many rows at least, and `_OVERFETCH` times as many as are wanted."""
_T = TypeVar("_T")
Data = Mapping[str, str | int | float | bool]
"""What stands beside a text; Chroma can be asked for it."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where a store is; with neither, in the memory of this process."""

    folder: str | None = None
    server: str | None = None
    """URL of a Chroma server; it wins over a folder."""

    def __str__(self) -> str:
        """As messages name it."""
        return self.server or self.folder or "the store in memory"


@dataclass(frozen=True, slots=True)
class Row:
    """One text with its vector."""

    id: str
    text: str
    data: Data
    vector: Sequence[float] = field(default=(), compare=False)
    """As long as the collection's others; empty in what is read."""
    distance: float = 0.0
    """Cosine distance from what was asked for, in [0, 2]; of what `query` found."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are meant, by what stands beside their texts; with nothing set, all."""

    equal: Data = field(default_factory=dict)
    unequal: Data = field(default_factory=dict)

    def expression(self) -> dict[str, Any] | None:
        """As Chroma writes it, which takes neither an empty `$and` nor one of a single part."""
        parts = [{name: {"$eq": value}} for name, value in self.equal.items()]
        parts += [{name: {"$ne": value}} for name, value in self.unequal.items()]
        return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)


class Store:
    """The collections of one Chroma store; one thread of its own does all the work on it."""

    def __init__(self, where: Where) -> None:
        """Use the store at `where`; a folder is created when first needed."""
        self.where = where
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tmas-chroma")
        self._client: Any = None
        self._collections: dict[str, Any] = {}
        self._lock: FileLock | None = None

    async def open(self, name: str) -> Data:
        """Open collection `name` now, instead of when it is first used, and give its metadata.

        Loading takes a second in which replies that come in are stored late.

        Raises:
            StorageError: the store can't be used.
        """
        return await self._run(lambda: dict(self._open(name).metadata or {}))

    async def describe(self, name: str, data: Data) -> None:
        """Let `data` be the metadata of collection `name`."""
        await self._run(lambda: self._open(name).modify(metadata=dict(data)), writes=True)

    async def write(self, name: str, rows: Sequence[Row]) -> None:
        """Store `rows` in collection `name`; one whose id is there is replaced.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        if rows:
            await self._run(lambda: self._write(name, rows), writes=True)

    async def read(self, name: str, ids: Sequence[str]) -> dict[str, Row]:
        """The stored ones of `ids`, by id."""
        distinct = list(dict.fromkeys(ids))
        return await self._run(lambda: self._read(name, distinct)) if distinct else {}

    async def query(self, name: str, vector: Sequence[float], ids: Sequence[str]) -> list[Row]:
        """The stored ones of `ids`, those nearest to `vector` first."""
        distinct = list(dict.fromkeys(ids))
        return await self._run(lambda: self._query(name, vector, distinct)) if distinct else []

    async def close(self) -> None:
        """Free the folder; what comes later opens it again."""
        await self._run(self._close)

    async def _run(self, work: Callable[[], _T], *, writes: bool = False) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._worker, self._guarded, work, writes)

    def _guarded(self, work: Callable[[], _T], writes: bool) -> _T:
        from chromadb.errors import ChromaError  # noqa: PLC0415  (takes a second to load)

        try:
            if writes:
                self._own()
            return work()
        except (ChromaError, OSError, ValueError) as error:
            if isinstance(error, StorageError):
                raise
            raise StorageError(
                f"memory: {self.where} can't be used ({error}). "
                "Set memory_folder to a writable folder, or memory_server to a Chroma server."
            ) from error

    def _own(self) -> None:
        """Be the folder's one writer."""
        if self._lock is not None or self.where.server or not self.where.folder:
            return
        folder = Path(self.where.folder)
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / _LOCK)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise StorageError(
                f"memory: another process writes to {folder}. Wait for it, give another "
                "memory_folder, or let both use one Chroma server (memory_server)."
            ) from None
        self._lock = lock

    def _write(self, name: str, rows: Sequence[Row]) -> None:
        distinct = list({row.id: row for row in rows}.values())
        self._open(name).upsert(
            ids=[row.id for row in distinct],
            documents=[row.text for row in distinct],
            embeddings=[list(row.vector) for row in distinct],
            metadatas=[dict(row.data) for row in distinct],
        )

    def _read(self, name: str, ids: Sequence[str]) -> dict[str, Row]:
        found = self._open(name).get(ids=list(ids), include=["documents", "metadatas"])
        rows = map(Row, found["ids"], found["documents"], found["metadatas"])
        return {row.id: row for row in rows}

    def _query(self, name: str, vector: Sequence[float], ids: Sequence[str]) -> list[Row]:
        # A query for an id that isn't there fails, so ask first which ones are.
        known = self._open(name).get(ids=list(ids), include=[])["ids"]
        if not known:
            return []
        found = self._open(name).query(
            query_embeddings=[list(vector)],
            ids=known,
            n_results=len(known),
            include=["documents", "metadatas", "distances"],
        )
        [texts], [datas], [distances] = found["documents"], found["metadatas"], found["distances"]
        near = zip(found["ids"][0], texts, datas, distances, strict=True)
        return [Row(id, text, data, distance=away) for id, text, data, away in near]

    def _open(self, name: str) -> Any:
        if name not in self._collections:
            if self._client is None:
                self._client = _client(self.where)
            # Without a function of its own Chroma would download a model; all vectors are given.
            self._collections[name] = self._client.get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collections[name]

    def _close(self) -> None:
        self._collections.clear()
        if self._client is not None and self.where.folder:
            self._client.close()
            self._client = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def exists(self) -> bool:
        """Whether something was ever stored here; to ask creates nothing."""
        folder = self.where.folder
        return bool(self.where.server or not folder or (Path(folder) / _DATABASE).is_file())

    async def own(self) -> None:
        """Be the folder's one writer now, instead of from the first write on.

        Raises:
            StorageError: another process writes to the folder, or it can't be used.
        """
        await self._run(lambda: None, writes=True)

    async def search(
        self, name: str, vector: Sequence[float], meant: Filter, count: int
    ) -> list[Row]:
        """Up to `count` of the rows `meant` in collection `name`, the nearest to `vector` first."""
        return await self._run(lambda: self._search(name, vector, meant, count))

    async def find(self, name: str, meant: Filter) -> list[Row]:
        """The rows `meant` in collection `name`, in the order in which they were first written."""
        return await self._run(lambda: self._find(name, meant))

    async def count(self, name: str, meant: Filter) -> int:
        """How many rows `meant` there are in collection `name`."""
        return await self._run(
            lambda: len(self._open(name).get(where=meant.expression(), include=[])["ids"])
        )

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        """Delete the rows `ids` of collection `name`; those that aren't there don't matter.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        if ids:
            await self._run(lambda: self._remove(name, list(dict.fromkeys(ids))), writes=True)

    def _search(self, name: str, vector: Sequence[float], meant: Filter, count: int) -> list[Row]:
        # The index is approximate: of many more than are wanted the first ones are the right ones.
        found = self._open(name).query(
            query_embeddings=[list(vector)],
            n_results=max(_LEAST_FETCHED, _OVERFETCH * count),
            where=meant.expression(),
            include=["documents", "metadatas", "distances"],
        )
        [texts], [datas], [distances] = found["documents"], found["metadatas"], found["distances"]
        near = zip(found["ids"][0], texts, datas, distances, strict=True)
        rows = [Row(id, text, data, distance=away) for id, text, data, away in near]
        return sorted(rows, key=lambda row: (round(row.distance, 6), row.id))[:count]

    def _find(self, name: str, meant: Filter) -> list[Row]:
        found = self._open(name).get(where=meant.expression(), include=["documents", "metadatas"])
        return list(map(Row, found["ids"], found["documents"], found["metadatas"]))

    def _remove(self, name: str, ids: Sequence[str]) -> None:
        for begin in range(0, len(ids), _BATCH):
            self._open(name).delete(ids=list(ids[begin : begin + _BATCH]))


@cache
def open_store(where: Where) -> Store:
    """The store at `where`; one object per place and process."""
    return Store(where)


def _client(where: Where) -> Any:
    import chromadb  # noqa: PLC0415  (takes a second to load)
    from chromadb.config import Settings  # noqa: PLC0415

    quiet = Settings(anonymized_telemetry=False)
    if where.server:
        parts = urlsplit(where.server)
        return chromadb.HttpClient(
            host=parts.hostname or "",
            port=parts.port or (443 if parts.scheme == "https" else 80),
            ssl=parts.scheme == "https",
            settings=quiet,
        )
    if where.folder is None:
        return chromadb.EphemeralClient(settings=quiet)
    Path(where.folder).mkdir(parents=True, exist_ok=True)
    return chromadb.PersistentClient(path=where.folder, settings=quiet)
