"""A SQLite checkpointer for long runs: writes in groups, and keeps no stale subgraph states.

LangGraph's saver commits every write on its own and keeps every state of every subgraph. Of a
subgraph only the newest state can ever be resumed (a fork inside one starts it anew), and none
once its step is over, so those go; the results of tasks stay for good, and so do all states of
the graph itself, for forks and history. Candidates of TMAS have none: their calls are kept.
"""

import asyncio
import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tmas_graph.packing import packed, unpacked
from tmas_graph.serde import of_cancelled_task

_PUT = """INSERT OR REPLACE INTO checkpoints
(thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
_WRITE = """INSERT OR {} INTO writes
(thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_DROP_OLDER = """DELETE FROM checkpoints
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id < ?"""
_DROP_OLDER_WRITES = """DELETE FROM writes
WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id < ? AND channel != '__return__'"""
_OF_STEP = """thread_id = ? AND checkpoint_ns IN (
SELECT checkpoint_ns FROM checkpoints WHERE thread_id = ? AND checkpoint_ns != ''
AND json_extract(CAST(metadata AS TEXT), '$.parents.""') = ?)"""
_DROP_WRITES_OF_STEP = f"DELETE FROM writes WHERE channel != '__return__' AND {_OF_STEP}"
_DROP_STEP = f"DELETE FROM checkpoints WHERE {_OF_STEP}"

_PACKED, _ZIPPED = "+zstd", "+zlib"  # the latter by earlier versions
_LEAST_TO_PACK = 512
_MOST_LOGGED = 500
"""Rows in the write-ahead log after which it is copied into the database."""

Statements = list[tuple[str, Iterable[tuple[Any, ...]]]]
"""SQL with its rows, which are made in the writer's thread where they are a generator."""


class PackingSerializer(JsonPlusSerializer):
    """LangGraph's serializer, with long values compressed: model texts shrink to a third."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialise `obj`, and compress it if that is worth while."""
        kind, plain = super().dumps_typed(obj)
        if len(plain) < _LEAST_TO_PACK:
            return kind, plain
        return kind + _PACKED, packed(plain)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Restore what `dumps_typed`, or LangGraph's own serializer, has made."""
        kind, stored = data
        plain = kind.removesuffix(_PACKED).removesuffix(_ZIPPED)
        return super().loads_typed(data if plain == kind else (plain, unpacked(stored)))


class GroupingSqliteSaver(AsyncSqliteSaver):
    """AsyncSqliteSaver whose concurrent writes share a transaction; each returns once stored."""

    stores_whole_tasks = True
    """Nothing of a cancelled task, as `serde.restored` sees to for other savers."""
    keeps_calls = True
    """In the same database, by `SqliteCalls`."""

    def __init__(
        self, connection: aiosqlite.Connection, database: Path, *, serde: JsonPlusSerializer
    ) -> None:
        """Read through `connection`, and write to the same `database`."""
        super().__init__(connection, serde=serde)
        self.database = database
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tmas-checkpoints")
        self._tidier = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tmas-log")
        self._tidying: Future[None] | None = None
        self._logged = 0
        self._db: sqlite3.Connection | None = None
        self._waiting: list[tuple[Statements, asyncio.Future[None]]] = []
        self._flusher: asyncio.Task[None] | None = None

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> Self:
        """Stay as it is: a copy would have a queue of its own, and lose or repeat writes."""
        return self

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint; drop a subgraph's older ones, and all when its step is over."""
        place = config["configurable"]
        thread, ns, name = str(place["thread_id"]), place["checkpoint_ns"], checkpoint["id"]
        kind, value = self.serde.dumps_typed(checkpoint)
        about = json.dumps(get_checkpoint_metadata(config, metadata), ensure_ascii=False)
        row = (thread, ns, name, place.get("checkpoint_id"), kind, value, about.encode())
        statements: Statements = [(_PUT, [row])]
        if ns:
            older = [(thread, ns, name)]
            statements += [(_DROP_OLDER, older), (_DROP_OLDER_WRITES, older)]
        elif before := place.get("checkpoint_id"):
            step = [(thread, thread, before)]
            statements += [(_DROP_WRITES_OF_STEP, step), (_DROP_STEP, step)]
        await self.store(statements)
        return {
            "configurable": {
                "thread_id": place["thread_id"],
                "checkpoint_ns": ns,
                "checkpoint_id": name,
            }
        }

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote; nothing of one that was cancelled."""
        if of_cancelled_task(writes):
            return
        place = config["configurable"]
        where = (str(place["thread_id"]), str(place["checkpoint_ns"]), str(place["checkpoint_id"]))
        rows = [
            (
                *where,
                task_id,
                task_path,
                WRITES_IDX_MAP.get(channel, i),
                channel,
                *self.serde.dumps_typed(value),
            )
            for i, (channel, value) in enumerate(writes)
        ]
        special = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        await self.store([(_WRITE.format("REPLACE" if special else "IGNORE"), rows)])

    async def store(self, statements: Statements) -> None:
        """Wait until `statements` are committed; those of a cancelled caller are, too."""
        if not self.is_setup:
            await self.setup()
        await asyncio.shield(self.enqueue(statements))

    def enqueue(self, statements: Statements) -> asyncio.Future[None]:
        """Take `statements` in at once; the future is done when they are committed.

        Needs a saver that is set up. Statements of one group are committed together or not at
        all, so what makes the rows must not fail.
        """
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((statements, stored))
        if self._flusher is None or self._flusher.done():
            self._flusher = asyncio.create_task(self._flush())
        return stored

    async def flush(self) -> None:
        """Wait until everything that was given so far is committed."""
        if self._flusher is not None:
            await asyncio.shield(self._flusher)  # others wait for it, too

    async def aclose(self) -> None:
        """Wait until everything that was given is committed, then stop writing."""
        await self.flush()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown()
        self._tidier.shutdown()

    async def _flush(self) -> None:
        """Commit what waits, group by group: all that came while the last group was written."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            error = await self._commit([s for statements, _ in group for s in statements])
            for _, stored in group:
                if stored.done():  # its caller's loop is gone
                    continue
                if error is None:
                    stored.set_result(None)
                else:
                    stored.set_exception(error)

    async def _commit(self, statements: Statements) -> Exception | None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, statements)
        except Exception as error:
            return error
        return None

    def _write(self, statements: Statements) -> None:
        # One hop to a thread and one transaction for the group, on a connection of its own.
        if self._db is None:
            self._db = sqlite3.connect(self.database, timeout=60)
            self._db.execute("PRAGMA synchronous=NORMAL")  # loses nothing to a killed process
            self._db.execute("PRAGMA wal_autocheckpoint=0")
        made = [(sql, list(rows)) for sql, rows in statements]  # before others are locked out
        with self._db:
            for sql, rows in made:
                self._db.executemany(sql, rows)
        self._logged += sum(len(rows) for _, rows in made)
        if self._logged >= _MOST_LOGGED and (self._tidying is None or self._tidying.done()):
            self._logged = 0
            self._tidying = self._tidier.submit(self._tidy)

    def _tidy(self) -> None:
        # Copying the log into the database waits for the disk, and replies must not: SQLite would
        # do it within a commit. Passive: it holds up nobody.
        with closing(sqlite3.connect(self.database, timeout=60)) as database:
            database.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
