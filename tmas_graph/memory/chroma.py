"""Stores of texts with their vectors, off the event loop: in memory, a folder, or on a server.

A folder has one writer process: the lock is taken by `claim` or with the first write and freed
when the store is closed or the process ends, however it ends. Reading needs none. What is damaged
is moved aside and begun anew; who knows the rows has to write them again.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from tmas_graph.errors import StorageError
from tmas_graph.memory import chroma_process
from tmas_graph.memory.chroma_client import DATABASE, Client, explained, reason_of
from tmas_graph.memory.chroma_process import ProcessLost
from tmas_graph.memory.damage import is_damaged, set_aside
from tmas_graph.memory.rows import Data, Filter, Row, Where
from tmas_graph.memory.same_vectors import refuse_other
from tmas_graph.memory.writer_lock import WriterLock

__all__ = ["Data", "Filter", "Row", "Store", "Where", "open_store"]
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Write:
    """Rows that wait to be written; those that wait together are written together."""

    name: str
    rows: Sequence[Row]
    about: Data
    done: bool = False


class Store:
    """The collections of one Chroma store; one thread of its own does all the work on it."""

    def __init__(
        self,
        where: Where,
        *,
        writable: bool = True,
        connect: Callable[[Where], Client] | None = None,
    ) -> None:
        """Use the store at `where`; a folder is made with the first write.

        Args:
            where: its place.
            writable: where it isn't, nothing is made, mended or locked.
            connect: gives the client that does the work; with none, one in a process of its own.
        """
        self.where = where
        self._connect = connect or chroma_process.connect
        self._writable = writable
        self._client: Client | None = None
        self._lock: WriterLock | None = None
        self._waiting: list[_Write] = []
        self._notices: list[str] = []
        self._worker: ThreadPoolExecutor | None = None
        self._users = 0
        self._guard = threading.Lock()
        """Over the worker and the number of users, which several event loops may change."""

    async def claim(self) -> None:
        """Be the writer from now on, so that what hinders writing shows now.

        Loading takes a second in which replies that come in are stored late.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        await self._run(self._made, writes=True)

    async def open(self, name: str) -> Data:
        """The metadata of collection `name`; empty if there is none yet."""
        return await self._look(lambda client: client.about(name) or {}, {})

    async def describe(self, name: str, about: Data) -> None:
        """Let `about` be the metadata of collection `name`."""
        await self._run(lambda: self._made().describe(name, about), writes=True)

    async def write(self, name: str, rows: Sequence[Row], about: Data | None = None) -> None:
        """Store `rows` in collection `name`; one whose id is there is replaced.

        It has the metadata `about` or, if it is made now, gets them.

        Raises:
            StorageError: the store can't be used, another process writes to the folder, or the
                collection has other metadata; no row is written then.
        """
        if not rows:
            return
        mine = _Write(name, list({row.id: row for row in rows}.values()), dict(about or {}))
        self._waiting.append(mine)
        try:
            await self._run(lambda: self._flush(mine), writes=True)
        finally:
            self._waiting.remove(mine)

    async def read(self, name: str, ids: Sequence[str], *, vectors: bool = False) -> dict[str, Row]:
        """The stored ones of `ids`, by id."""
        if not (distinct := list(dict.fromkeys(ids))):
            return {}
        return await self._look(lambda client: client.get(name, distinct, vectors), {})

    async def ids(self, name: str) -> list[str]:
        """All ids of collection `name`, in the order in which they came."""
        return await self._look(lambda client: client.ids(name), [])

    async def find(self, name: str, meant: Filter) -> list[Row]:
        """The rows `meant` in collection `name`, in the order in which they came."""
        return await self._look(lambda client: client.find(name, meant), [])

    async def search(
        self, name: str, vector: Sequence[float], meant: Filter, count: int
    ) -> list[Row]:
        """Up to `count` of the rows `meant`, the nearest to `vector` first, by Chroma's index."""
        return await self._look(lambda client: client.search(name, vector, meant, count), [])

    async def remove(self, name: str, ids: Sequence[str]) -> None:
        """Delete the rows `ids`; those that aren't there don't matter.

        Raises:
            StorageError: the store can't be used, or another process writes to the folder.
        """
        if distinct := list(dict.fromkeys(ids)):
            await self._run(lambda: self._made().remove(name, distinct), writes=True)

    async def drop(self, name: str) -> None:
        """Remove collection `name`, if it is there."""
        await self._run(lambda: self._made().drop(name), writes=True)

    async def succeed(self, name: str) -> None:
        """Let the collection that was built for it (`name` with NEXT) take the place of `name`."""
        await self._run(lambda: self._made().succeed(name), writes=True)

    def note(self, said: str) -> None:
        """Log what people should know, and keep it until someone asks."""
        _log.warning("%s", said)
        self._notices.append(said)

    def notices(self) -> list[str]:
        """What people should know about this store, each told once."""
        told, self._notices = self._notices, []
        return told

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Use the store; it is closed when nobody does any more."""
        with self._guard:
            self._users += 1
        try:
            yield
        finally:
            with self._guard:
                self._users -= 1
                unused = not self._users
            if unused:
                await self.close()

    async def close(self) -> None:
        """Free folder, connection and thread; what comes later opens it again."""
        await self._run(self._close)
        with self._guard:
            if self._worker is not None:
                self._worker.shutdown(wait=False)
            self._worker = None

    async def _look(self, look: Callable[[Client], _T], nothing: _T) -> _T:
        return await self._run(lambda: look(client) if (client := self._found()) else nothing)

    async def _run(self, work: Callable[[], _T], *, writes: bool = False) -> _T:
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="tmas-chroma")
            future = loop.run_in_executor(self._worker, self._guarded, work, writes)
        return await future

    def _guarded(self, work: Callable[[], _T], writes: bool) -> _T:
        for once_more in (True, False):
            try:
                if writes:
                    self._own()
                return work()
            except StorageError:
                raise
            except BaseException as error:  # a panic in Chroma's Rust is no Exception
                if not (once_more and self._mended(error)):
                    raise explained(self.where, error) from error
        raise AssertionError("the second try returns or raises")

    def _own(self) -> None:
        """Be the folder's one writer."""
        if not self._writable:
            raise StorageError(f"memory: {self.where} was opened to be read. Open it to write.")
        if self._lock is None and (path := self.where.path):
            self._lock = WriterLock.of(path)

    def _mended(self, error: BaseException) -> bool:
        """Whether what was wrong is put right, so that another try is worth it."""
        if isinstance(error, ProcessLost):
            self._client = None
            self.note(f"memory: the process for {self.where} was lost ({error}); it begins anew.")
            return True
        if getattr(error, "kind", type(error).__name__) == "NotFoundError" and self._client:
            self._client.forget()
            return True
        path = self.where.path
        if path is None or not self._writable or not is_damaged(path, error):
            return False
        self._own()
        self._disconnect()
        said = (
            f"memory: {self.where} is damaged ({reason_of(error)}); it was moved to "
            f"{set_aside(path)}. Items of this thread come back from its checkpoints, those of "
            "others when they run again."
        )
        self.note(said)
        return True

    def _flush(self, mine: _Write) -> None:
        if mine.done:
            return
        kind = (mine.name, mine.about, False)
        alike = [w for w in self._waiting if (w.name, w.about, w.done) == kind]
        together = [w for w in alike if w is not mine]
        try:
            self._put(mine, *together)
        except Exception:
            if not together:
                raise
            self._put(mine)  # the fault may be in another's rows, who is told of it

    def _put(self, *writes: _Write) -> None:
        name, about, client = writes[0].name, writes[0].about, self._made()
        refuse_other(self.where, client.make(name, about), about)
        client.put(name, list({row.id: row for w in writes for row in w.rows}.values()))
        for write in writes:
            write.done = True

    def _made(self) -> Client:
        if self._client is None:
            self._client = self._connect(self.where)
        return self._client

    def _found(self) -> Client | None:
        """The client, unless there is nothing to read: to read makes no folder."""
        path = self.where.path
        if self._client is None and path and not (path / DATABASE).exists():
            if path.exists() and not path.is_dir():
                raise NotADirectoryError("it is no folder")
            return None
        return self._made()

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _close(self) -> None:
        if self.where.path or self.where.server:
            self._disconnect()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


@cache
def open_store(where: Where) -> Store:
    """The store at `where`; one object per place and process."""
    return Store(where)
