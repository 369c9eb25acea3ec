"""The model calls of a thread, in its state folder's database.

A call is a row of `tmas_calls`: columns for what is worth asking SQL about, and a body with the
rest. What was sent stands in `tmas_texts`, each text once however many calls sent it: M checks
of one candidate, say, or N candidates that build on the same rollouts.
"""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import orjson

from tmas_graph.checkpoints import GroupingSqliteSaver, Statements
from tmas_graph.errors import StorageError
from tmas_graph.models.call_rows import CallRow, as_unicode, covered, row_of
from tmas_graph.models.calls import Call, Place, restored
from tmas_graph.packing import Damaged, packed, unpacked
from tmas_graph.state import digest
from tmas_graph.usage import Usage

TABLES = (
    """CREATE TABLE IF NOT EXISTS tmas_calls (
    id TEXT PRIMARY KEY, thread TEXT NOT NULL, began REAL NOT NULL, ended REAL NOT NULL,
    queued REAL NOT NULL, iteration INTEGER NOT NULL, role TEXT NOT NULL,
    candidate INTEGER NOT NULL, purpose TEXT NOT NULL, seed INTEGER, model TEXT NOT NULL,
    n INTEGER NOT NULL, replies INTEGER NOT NULL, outcome TEXT NOT NULL, cause TEXT NOT NULL,
    cut TEXT NOT NULL,
    calls INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    estimated_tokens INTEGER NOT NULL, cost REAL NOT NULL, body BLOB NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS tmas_calls_by_time ON tmas_calls (thread, began, id)",
    "CREATE INDEX IF NOT EXISTS tmas_calls_by_place ON tmas_calls (thread, iteration, seed)",
    "CREATE TABLE IF NOT EXISTS tmas_texts (digest TEXT PRIMARY KEY, text BLOB NOT NULL)",
)
_USAGE = tuple(field.name for field in fields(Usage))
_ABOUT = tuple(field.name for field in fields(CallRow) if field.name != "usage")
_NAMES = ("thread", *_ABOUT, *_USAGE, "body")
_PUT_CALL = (
    f"INSERT OR REPLACE INTO tmas_calls ({', '.join(_NAMES)}) "
    f"VALUES ({', '.join('?' * len(_NAMES))})"
)
_PUT_TEXT = "INSERT OR IGNORE INTO tmas_texts VALUES (?, ?)"
_PAGE = 100
"""Calls that are read at once."""


class SqliteCalls:
    """The calls of one thread: a log that gives them back."""

    def __init__(self, saver: GroupingSqliteSaver, thread: str) -> None:
        """Write with `saver`, in its transactions; its database has the `TABLES`."""
        self._saver = saver
        self._thread = thread
        self._stored: set[str] = set()
        """Digests of texts that are committed, and need not be compressed again."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._sat_before = False
        """Whether an earlier sitting made calls, as far as `spent` has looked."""

    def note(self, call: Call) -> Awaitable[None]:
        """Take `call` in at once; what is returned, awaited, ends when it is stored for good.

        Raises:
            StorageError: when awaited: the database can't be written.
        """
        names = [digest(message["content"]) for message in call.messages]
        texts = {name: m["content"] for name, m in zip(names, call.messages, strict=True)}
        plain = call.plain()
        plain["messages"] = [
            {**m, "content": name} for name, m in zip(names, call.messages, strict=True)
        ]
        columns = (self._thread, *map(_bindable, _columns(call)))
        body = _as_json(plain)
        statements: Statements = [(_PUT_TEXT, self._new(texts)), (_PUT_CALL, _row(columns, body))]
        task = asyncio.create_task(self._commit(self._saver.enqueue(statements), texts))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_seen)  # whoever waits for it is told; nobody may be left to
        return asyncio.shield(task)

    async def get(self, name: str) -> Call:
        """The call whose id is `name`.

        Raises:
            StorageError: it isn't there, or the database can't be read.
        """
        query = "SELECT body FROM tmas_calls WHERE thread = ? AND id = ?"
        rows = await self._select(query, self._thread, name)
        if not rows:
            await self._saver.flush()
            rows = await self._select(query, self._thread, name)
        if not rows:
            raise self._lost(f"call {name}")
        [call] = await self._restored([rows[0][0]])
        return call

    async def earlier(self, place: Place, draw: int | None, purpose: str) -> Call | None:
        """An answered call of an earlier sitting with these; None if there is none.

        Checkpoints hold nothing of calls: this is how a resumed step finds those that it had made.
        """
        if draw is None or not self._sat_before:
            return None
        query = (
            "SELECT body FROM tmas_calls WHERE thread = ? AND iteration = ? AND seed = ? "
            "AND role = ? AND candidate = ? AND purpose = ? AND replies > 0"
        )
        given = (self._thread, place.iteration, draw, place.role, place.index, purpose)
        rows = await self._select(f"{query} ORDER BY began DESC LIMIT 1", *given)
        return (await self._restored([rows[0][0]]))[0] if rows else None

    async def find(self, prefix: str, *, most: int = 9) -> list[str]:
        """Ids of calls that begin with `prefix`, no more than `most`."""
        await self._saver.flush()
        query = f"SELECT id FROM tmas_calls WHERE thread = ? AND substr(id, 1, {len(prefix)}) = ?"
        rows = await self._select(f"{query} ORDER BY began, id LIMIT {most}", self._thread, prefix)
        return [name for (name,) in rows]

    async def all(self) -> AsyncIterator[Call]:
        """Every call in order of time; few are in memory at once."""
        async for page in self._pages("body"):
            for call in await self._restored([body for *_, body in page]):
                yield call

    async def rows(self) -> AsyncIterator[CallRow]:
        """Every call in order of time, without its texts."""
        async for page in self._pages(", ".join((*_ABOUT, *_USAGE))):
            for _, _, *values in page:
                *about, cut = values[: len(_ABOUT)]
                known = dict(zip(_ABOUT, (*about, json.loads(cut)), strict=True))
                yield CallRow(**known, usage=Usage(*values[len(_ABOUT) :]))

    async def spent(self) -> Usage:
        """What all calls of the thread cost together."""
        await self._saver.flush()
        sums = ", ".join(f"COALESCE(SUM({name}), 0)" for name in _USAGE)
        query = f"SELECT {sums} FROM tmas_calls WHERE thread = ?"
        [row] = await self._select(query, self._thread)
        self._sat_before = self._sat_before or row[0] > 0
        return Usage(*row)

    async def seconds(self) -> float:
        """For how long some call was under way, over all sittings of the thread."""
        await self._saver.flush()
        query = "SELECT began, ended FROM tmas_calls WHERE thread = ? ORDER BY began"
        return covered(await self._select(query, self._thread))

    def _new(self, texts: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
        for name, text in texts.items():
            if name not in self._stored:
                yield name, packed(_bytes(text))

    async def _commit(self, stored: asyncio.Future[None], texts: Iterable[str]) -> None:
        try:
            await stored
        except sqlite3.Error as error:
            raise self._unusable("written", error) from error
        self._stored.update(texts)  # not before: what a failed commit held must be sent again

    async def _pages(self, columns: str) -> AsyncIterator[list[Any]]:
        await self._saver.flush()
        query = (
            f"SELECT began, id, {columns} FROM tmas_calls WHERE thread = ? "
            f"AND (began, id) > (?, ?) ORDER BY began, id LIMIT {_PAGE}"
        )
        last: tuple[float, str] = (float("-inf"), "")
        while page := await self._select(query, self._thread, *last):
            yield page
            last = tuple(page[-1][:2])

    async def _restored(self, bodies: Sequence[bytes]) -> list[Call]:
        plains = [json.loads(self._unpacked(body)) for body in bodies]
        names = {message["content"] for plain in plains for message in plain["messages"]}
        texts = await self._texts(sorted(names))
        for plain in plains:
            plain["messages"] = [{**m, "content": texts[m["content"]]} for m in plain["messages"]]
        return [restored(plain) for plain in plains]

    async def _texts(self, names: Sequence[str]) -> dict[str, str]:
        texts: dict[str, str] = {}
        for start in range(0, len(names), 500):  # SQLite takes 999 marks, if it is an old one
            part = names[start : start + 500]
            marks = ", ".join("?" * len(part))
            query = f"SELECT digest, text FROM tmas_texts WHERE digest IN ({marks})"
            rows = await self._select(query, *part)
            texts.update({name: self._unpacked(text) for name, text in rows})
        if missing := set(names) - set(texts):
            raise self._lost(f"the text of a message ({min(missing)[:12]})")
        return texts

    async def _select(self, query: str, *values: Any) -> list[Any]:
        given = tuple(map(_bindable, values))
        try:
            async with self._saver.lock, self._saver.conn.execute(query, given) as cursor:
                return list(await cursor.fetchall())
        except sqlite3.Error as error:
            raise self._unusable("read", error) from error

    def _unpacked(self, stored: bytes) -> str:
        try:
            return unpacked(stored).decode("utf-8", "surrogatepass")
        except Damaged as error:
            raise self._lost(f"a call ({error})") from error

    def _lost(self, what: str) -> StorageError:
        return StorageError(
            f"calls: {what} of thread {self._thread} isn't in {self._saver.database} any more. "
            "Bring that file back from a copy, or solve the problem anew."
        )

    def _unusable(self, how: str, error: Exception) -> StorageError:
        return StorageError(
            f"calls: {self._saver.database} can't be {how} ({error}). "
            "See to its disk and its rights, then resume."
        )


def digests_in(body: bytes) -> set[str]:
    """The digests of the texts that a call's row refers to."""
    return {message["content"] for message in json.loads(unpacked(body))["messages"]}


def _seen(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()


def _columns(call: Call) -> tuple[Any, ...]:
    row, usage = row_of(call), call.usage
    *about, cut = (getattr(row, name) for name in _ABOUT)
    return (*about, json.dumps(cut), *(getattr(usage, name) for name in _USAGE))


def _row(columns: tuple[Any, ...], body: bytes) -> Iterator[tuple[Any, ...]]:
    yield (*columns, packed(body))


def _as_json(plain: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(plain, default=str)
    except TypeError:  # it takes no halves of surrogate pairs, nor integers of over 64 bits
        return _bytes(json.dumps(plain, ensure_ascii=False, default=str))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _bindable(value: Any) -> Any:
    return as_unicode(value) if isinstance(value, str) else value
