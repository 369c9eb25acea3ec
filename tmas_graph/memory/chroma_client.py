"""A connection to Chroma: rows go in and out by id; nothing else knows its interface.

Everything here blocks and is for one thread. What Chroma raises comes through as it is, but for a
server that doesn't answer.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tmas_graph.errors import StorageError
from tmas_graph.memory.rows import Data, Filter, Row, Where

DATABASE = "chroma.sqlite3"
NEXT = ".next"
"""Ends the name of a collection that is built to take another one's place."""
COMPLETE = "complete"
"""Says in the metadata of such a collection that it may."""
_INDEX = {"hnsw": {"space": "cosine", "ef_construction": 4, "max_neighbors": 2}}
"""As cheap to build as it can be: nearness is computed exactly, and never asked of it."""
SEARCHED = "tmas-library"
"""The collection of which that isn't so: too many of its rows may be meant to read them all."""
_SEARCHED_INDEX = {"hnsw": {"space": "cosine"}}
_MOST_ROWS = 256
"""In one request to a server, or read at once."""
_OVERFETCH = 4
_LEAST_FETCHED = 200
"""A search asks for so many rows at least, and `_OVERFETCH` times as many as are wanted."""
_SECONDS_TO_CONNECT = 10.0
_SECONDS = 60.0
"""For one request to a server."""


def load() -> None:
    """Load Chroma, which takes a second."""
    import chromadb  # noqa: F401, PLC0415


class Client:
    """The collections of the store at `where`."""

    def __init__(self, where: Where) -> None:
        """Connect; a folder is made if it isn't there."""
        self._where = where
        self._chroma = _connected(where)
        self._collections: dict[str, Any] = {}

    def about(self, name: str) -> Data | None:
        """The metadata of collection `name`; None if there is none."""
        if self._where.server:
            self._collections.pop(name, None)  # another process may have changed them
        found = self._find(name)
        return None if found is None else dict(found.metadata or {})

    def make(self, name: str, about: Data) -> Data:
        """The metadata of collection `name`, which is made with `about` if it isn't there."""
        if self._find(name) is None:
            # Without a function of its own Chroma would download a model; all vectors are given.
            self._collections[name] = self._chroma.get_or_create_collection(
                name,
                embedding_function=None,
                configuration=_SEARCHED_INDEX if name.removesuffix(NEXT) == SEARCHED else _INDEX,
                metadata=dict(about) or None,
            )
        return dict(self._collections[name].metadata or {})

    def describe(self, name: str, about: Data) -> None:
        """Let `about` be the metadata of collection `name`."""
        self.make(name, about)
        self._collections[name].modify(metadata=dict(about))

    def put(self, name: str, rows: Sequence[Row]) -> None:
        """Store `rows` in the collection that was made; one whose id is there is replaced."""
        import numpy as np  # noqa: PLC0415  (loaded with Chroma)

        most = min(_MOST_ROWS, self._chroma.get_max_batch_size())
        for some in _chunks(rows, most):
            self._collections[name].upsert(
                ids=[row.id for row in some],
                documents=[row.text for row in some],
                embeddings=np.asarray([row.vector for row in some], dtype=np.float32),
                metadatas=[dict(row.data) for row in some],
            )

    def get(self, name: str, ids: Sequence[str], vectors: bool) -> dict[str, Row]:
        """The stored ones of `ids`, by id."""
        found = self._find(name)
        if found is None:
            return {}
        include = ["documents", "metadatas", *(["embeddings"] if vectors else [])]
        rows: dict[str, Row] = {}
        for some in _chunks(ids, _MOST_ROWS):
            got = found.get(ids=list(some), include=include)
            width = got["embeddings"].astype("float32") if vectors else [()] * len(got["ids"])
            texts, datas = got["documents"], got["metadatas"]
            rows |= {row.id: row for row in map(Row, got["ids"], texts, datas, width)}
        return rows

    def ids(self, name: str) -> list[str]:
        """All ids of collection `name`, in the order in which they came."""
        found = self._find(name)
        return [] if found is None else list(found.get(include=[])["ids"])

    def find(self, name: str, meant: Filter) -> list[Row]:
        """The rows `meant`, in the order in which they came."""
        if (found := self._find(name)) is None:
            return []
        got = found.get(where=_expression(meant), include=["documents", "metadatas"])
        return list(map(Row, got["ids"], got["documents"], got["metadatas"]))

    def search(self, name: str, vector: Sequence[float], meant: Filter, count: int) -> list[Row]:
        """Up to `count` of the rows `meant`, the nearest to `vector` first, by the index."""
        if (found := self._find(name)) is None:
            return []
        # The index is approximate: of many more than are wanted the first ones are the right ones.
        got = found.query(
            query_embeddings=[list(vector)],
            n_results=max(_LEAST_FETCHED, _OVERFETCH * count),
            where=_expression(meant),
            include=["documents", "metadatas", "distances"],
        )
        [texts], [datas], [distances] = got["documents"], got["metadatas"], got["distances"]
        near = zip(got["ids"][0], texts, datas, distances, strict=True)
        rows = [Row(id, text, data, distance=round(away, 6)) for id, text, data, away in near]
        return sorted(rows, key=lambda row: (row.distance, row.id))[:count]

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """Delete the rows `ids`; those that aren't there don't matter."""
        if (found := self._find(name)) is not None:
            for some in _chunks(ids, _MOST_ROWS):
                found.delete(ids=list(some))

    def drop(self, name: str) -> None:
        """Remove collection `name`, if it is there."""
        if self._find(name) is not None:
            self._chroma.delete_collection(name)
        self.forget()

    def succeed(self, name: str) -> None:
        """Let the collection that was built for it take the place of `name`.

        Broken off between any two steps, the one or the other stands under that name.
        """
        successor = self._chroma.get_collection(name + NEXT, embedding_function=None)
        about = dict(successor.metadata or {})
        successor.modify(metadata={**about, COMPLETE: True})
        self.drop(name)
        successor.modify(name=name)
        self.forget()

    def forget(self) -> None:
        """Look collections up anew: another process may have put others in their place."""
        self._collections.clear()

    def close(self) -> None:
        """Free what the connection holds; one in memory keeps its rows."""
        self.forget()
        if self._where.server:
            for part in (self._chroma, self._chroma._admin_client):
                part._server._session.close()  # which Chroma leaves open
        if self._where.server or self._where.folder:
            self._chroma.close()

    def _find(self, name: str) -> Any:
        if name not in self._collections:
            found = self._existing(name) or self._successor(name)
            if found is None:
                return None
            self._collections[name] = found
        return self._collections[name]

    def _existing(self, name: str) -> Any:
        from chromadb.errors import NotFoundError  # noqa: PLC0415  (takes a second to load)

        try:
            return self._chroma.get_collection(name, embedding_function=None)
        except NotFoundError:
            return None

    def _successor(self, name: str) -> Any:
        """What was built to take the place of `name`, where a process died while it did."""
        found = None if name.endswith(NEXT) else self._existing(name + NEXT)
        if found is None or not (found.metadata or {}).get(COMPLETE):
            return None
        found.modify(name=name)
        return found


def reason_of(error: BaseException) -> str:
    """What `error` says, short and in one line."""
    said = str(error).strip() or type(error).__name__
    return re.sub(r"\s+", " ", said)[:300]


def _connected(where: Where) -> Any:
    import chromadb  # noqa: PLC0415  (takes a second to load)
    from chromadb.config import Settings  # noqa: PLC0415

    quiet = Settings(anonymized_telemetry=False)
    if where.server:
        return _served(where.server, quiet)
    if (path := where.path) is None:
        return chromadb.EphemeralClient(settings=quiet)
    path.mkdir(parents=True, exist_ok=True)
    try:
        return chromadb.PersistentClient(path=str(path), settings=quiet)
    except BaseException:
        _forget_failed(str(path))
        raise


def _served(url: str, settings: Any) -> Any:
    import chromadb  # noqa: PLC0415
    import httpx  # noqa: PLC0415  (Chroma's own client, and the errors it lets through)

    # Chroma waits for ever: ask first with a deadline, then set one.
    try:
        answer = httpx.get(f"{url}/api/v2/heartbeat", timeout=_SECONDS_TO_CONNECT)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise silent(url, error) from error
    if not answer.is_success or "heartbeat" not in answer.text:
        raise StorageError(
            f"memory: what answers at {url} is no Chroma server (HTTP {answer.status_code}). "
            "Set memory_server to the URL of one."
        )
    try:
        client = chromadb.HttpClient(host=url, settings=settings, ssl=url.startswith("https:"))
    except (httpx.HTTPError, ValueError) as error:
        raise silent(url, error) from error
    whole: Any = client
    whole._server._session.timeout = httpx.Timeout(_SECONDS, connect=_SECONDS_TO_CONNECT)
    return client


def explained(where: Where, error: BaseException) -> StorageError:
    """What `error`, which Chroma raised at `where`, means to a user."""
    if "dimension" in str(error):
        return StorageError(
            f"memory: {where} holds vectors of another width ({reason_of(error)}). "
            "Run `tmas memory reembed`, or set embeddings back."
        )
    if where.server:
        return silent(where.server, error)
    return StorageError(
        f"memory: {where} can't be used ({reason_of(error)}). "
        "Set memory_folder to a writable folder, or memory_server to a Chroma server; "
        "if its files are damaged, move them away."
    )


def silent(url: str, error: BaseException) -> StorageError:
    """The error of a server that doesn't answer as Chroma does."""
    return StorageError(
        f"memory: no Chroma server answers at {url} ({reason_of(error)}). "
        "Start it (`chroma run`), or set memory_server to its URL."
    )


def _forget_failed(path: str) -> None:
    # Chroma keeps what it failed to start and hands it out at the next try, were the cause gone.
    from chromadb.api.shared_system_client import SharedSystemClient as Shared  # noqa: PLC0415

    if not Shared._identifier_to_refcount.get(path):
        Shared._identifier_to_system.pop(path, None)


def _expression(meant: Filter) -> dict[str, Any] | None:
    """`meant` as Chroma writes it, which takes neither an empty `$and` nor one of a single part."""
    parts = [{name: {"$eq": value}} for name, value in meant.equal.items()]
    parts += [{name: {"$ne": value}} for name, value in meant.unequal.items()]
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)


def _chunks(values: Sequence[Any], most: int) -> Iterator[Sequence[Any]]:
    starts: Iterable[int] = range(0, len(values), most)
    return (values[start : start + most] for start in starts)
