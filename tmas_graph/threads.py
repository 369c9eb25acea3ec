"""Durable runs: where threads are kept, how they start, stop, resume and are listed.

A state folder holds one SQLite database (checkpoints by LangGraph, threads, and their model calls)
and, for each thread, a Chroma folder for its experience bank; threads that share what they learn
have one together. A thread belongs to one process at a
time; the operating system frees it when that process ends, however it ends.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiosqlite
from filelock import FileLock, Timeout
from langchain_core.runnables import RunnableConfig

from tmas_graph import state_folder
from tmas_graph.call_store import SqliteCalls
from tmas_graph.checkpoints import GroupingSqliteSaver, PackingSerializer
from tmas_graph.continuing import go_on
from tmas_graph.errors import ThreadBusy, ThreadError
from tmas_graph.memory import library, opening
from tmas_graph.methods import find
from tmas_graph.models.budget import Budget
from tmas_graph.models.call_rows import as_unicode
from tmas_graph.models.checkpointed import BUDGET, LOG, ORDER, Order
from tmas_graph.parts.method import Workflow
from tmas_graph.records import Record, made_with, record_of, row_of
from tmas_graph.running import OnEvent
from tmas_graph.serde import STORED
from tmas_graph.settings import Settings, near
from tmas_graph.state import Problem, Result


class ThreadStore:
    """The threads of one state folder; get one from `open_threads`."""

    def __init__(self, folder: Path, connection: aiosqlite.Connection) -> None:
        """Keep threads in `folder` and its open database."""
        self.folder = folder
        self._db = connection
        self._workflows: dict[str, Workflow] = {}
        self.saver = GroupingSqliteSaver(
            connection,
            folder / state_folder.DATABASE,
            serde=PackingSerializer(allowed_msgpack_modules=STORED),
        )

    async def create(
        self,
        problem: Problem,
        settings: Settings,
        models: Mapping[str, str],
        method: str = "tmas",
        *,
        name: str = "",
    ) -> Record:
        """Enter a thread for `problem`, to be solved by `method`; nothing runs yet.

        It is called `name`, where one is given.

        Raises:
            SettingsError: there is no such method.
        """
        now, settings = _now(), find(method).applied(settings)
        name = name or f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        settings = _placed(settings, self.folder, name)
        record = Record(name, problem, settings, {}, models, 0, "stopped", "", now, now, method)
        record = made_with(record, settings, models)
        await self._save(record)
        return record

    async def get(self, name: str) -> Record:
        """The record of thread `name`.

        Raises:
            ThreadError: there is none.
        """
        name = as_unicode(name)  # a shell hands over bytes that SQLite doesn't take
        rows = await self._rows("SELECT * FROM tmas_threads WHERE id = ?", name)
        if rows:
            return record_of(rows[0], self.folder)
        known = [record.id for record in await self.all()]
        raise ThreadError(
            f"threads: there is no {name!r} in {self.folder}{near(name, known)}. "
            "`tmas threads` lists them."
        )

    async def all(self) -> list[Record]:
        """All threads, the newest first."""
        rows = await self._rows("SELECT * FROM tmas_threads ORDER BY created DESC, id DESC")
        return [record_of(row, self.folder) for row in rows]

    async def statuses(self) -> dict[str, str]:
        """How each thread stands, by its name."""
        return dict(await self._rows("SELECT id, status FROM tmas_threads"))

    def is_running(self, name: str) -> bool:
        """Whether some process works on thread `name` now."""
        try:
            with self._owned(name):
                return False
        except ThreadBusy:
            return True

    async def values(self, name: str) -> dict[str, Any]:
        """The state of thread `name` after its last finished step; empty before the first.

        Of a method other than TMAS there is its result, once it has ended.
        """
        method = (await self.get(name)).method
        found = await self._workflow(method).aget_state(_config(name))
        return dict(found.values or {})

    def calls(self, name: str) -> SqliteCalls:
        """The model calls of thread `name`."""
        return SqliteCalls(self.saver, name)

    async def run(
        self,
        record: Record,
        *,
        run: Budget | None = None,
        order: Order | None = None,
        on_event: OnEvent | None = None,
    ) -> Result:
        """Start thread `record`, or let it go on; no finished model call is made again.

        Its settings may ask for more than they did (iterations, budget) of a thread that is done;
        if they don't, the event `already` is given and the result is the one that it has.

        Args:
            record: the thread, with the settings that hold from now on.
            run: a budget that it shares with others, for this sitting alone.
            order: whose calls go first, of it and others; see `ORDER`.
            on_event: called with each event.

        Raises:
            ThreadBusy: another process works on it.
            AllCandidatesFailed: no candidate of an iteration came through; run it again later.
            CallError: a bank's agent got no reply; run it again later.
            StorageError: the database or the memory can't be written (the disk is full, say).
        """
        with self._owned(record.id):
            try:
                await self._save(replace(record, status="running", cause=""))
                calls, budget = self.calls(record.id), Budget.of(record.settings, within=run)
                budget.carry(await calls.spent(), await calls.seconds())
                config = _config(record.id)
                config["configurable"] |= {BUDGET: budget, LOG: calls, ORDER: order}
                workflow = self._workflow(record.method)
                result = await go_on(workflow, record, config, budget, on_event)
                status = "budget" if result.stop == "budget" else "done"
                await self._save(replace(record, status=status, cause=""))
            except BaseException as error:
                with suppress(sqlite3.Error):
                    await self._save(replace(record, status="stopped", cause=_cause(error)))
                if isinstance(error, sqlite3.Error):
                    raise state_folder.unusable(self.folder, error) from error
                raise
            return replace(result, usage=budget.spent)

    def _workflow(self, method: str) -> Workflow:
        # To build one takes as long as some calls; it holds nothing of the threads that it runs.
        if method not in self._workflows:
            self._workflows[method] = find(method).build(self.saver)
        return self._workflows[method]

    async def _save(self, record: Record) -> None:
        row = row_of(replace(record, updated=_now()), self.folder)
        marks = ", ".join("?" * len(row))
        async with self.saver.lock:
            await self._db.execute(f"INSERT OR REPLACE INTO tmas_threads VALUES ({marks})", row)
            await self._db.commit()

    async def _rows(self, query: str, *values: str) -> list[Any]:
        async with self.saver.lock, self._db.execute(query, values) as cursor:
            return list(await cursor.fetchall())

    @contextmanager
    def _owned(self, name: str) -> Iterator[None]:
        locks = self.folder / "locks"
        locks.mkdir(exist_ok=True)
        lock = FileLock(locks / f"{name}.lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise ThreadBusy(
                f"threads: another process works on {name}. Wait for it, or stop it."
            ) from None
        try:
            yield
        finally:
            lock.release()


def refuse_second_writer(settings: Settings, folder: Path, method: str = "tmas") -> None:
    """Refuse what would be a thread in `folder`, while another process writes to its memory.

    Raises:
        StorageError: one does; nothing was made for the thread.
    """
    found = find(method)
    if found.is_tmas:
        opening.refuse_taken(_placed(found.applied(settings), folder, "of its own"))


@asynccontextmanager
async def open_threads(folder: str | Path) -> AsyncIterator[ThreadStore]:
    """Open the threads in `folder`, which is made if it isn't there.

    Raises:
        StorageError: the folder or its database can't be used.
    """
    place = Path(folder)
    database = await asyncio.to_thread(state_folder.made, place)
    async with _opened(place, database) as store:
        yield store


@asynccontextmanager
async def look_into(folder: str | Path) -> AsyncIterator[ThreadStore]:
    """Open the threads in `folder` to be looked at: where none ever were, nothing is made.

    Raises:
        StorageError: the folder or its database can't be used.
    """
    place = Path(folder)
    database = await asyncio.to_thread(state_folder.found, place)
    async with _opened(place, database) as store:
        yield store


@asynccontextmanager
async def _opened(place: Path, database: Path | None) -> AsyncIterator[ThreadStore]:
    async with state_folder.connected(place, database) as connection:
        store = ThreadStore(place, connection)
        try:
            await store.saver.setup()
        except sqlite3.Error as error:
            raise state_folder.unusable(place, error) from error
        try:
            yield store
        finally:
            await store.saver.aclose()


def _placed(settings: Settings, folder: Path, name: str) -> Settings:
    """`settings` that say where thread `name` keeps its experience: by default, in `folder`."""
    if settings.memory_folder is not None or settings.memory_server is not None:
        return settings
    own = settings.memory_scope == "problem"
    place = folder / (f"memory/{name}" if own else library.FOLDER)
    return settings.model_copy(update={"memory_folder": str(place.resolve())})


def _config(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _cause(error: BaseException) -> str:
    interrupted = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
    return "interrupted" if interrupted else str(error) or type(error).__name__
