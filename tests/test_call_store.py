import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import asdict, astuple, fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made import NOON, failed, made, sent

from tmas_graph.call_store import SqliteCalls
from tmas_graph.errors import StorageError
from tmas_graph.models.call_rows import covered
from tmas_graph.models.calls import Call, restored
from tmas_graph.models.replies import Reply
from tmas_graph.threads import ThreadStore, open_threads
from tmas_graph.usage import Usage

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ThreadStore]:
    async with open_threads(tmp_path) as it:
        yield it


@pytest.fixture
def calls(store: ThreadStore) -> SqliteCalls:
    return store.calls("t")


def test_a_plain_call_is_what_a_deep_copy_of_it_would_be_and_comes_back() -> None:
    call = made(replies=(Reply("a", usage=Usage(1, 2, 3)), Reply("b", "thought")))
    assert call.plain() == asdict(call)
    assert restored(call.plain()) == call


def test_usages_are_added_field_by_field() -> None:
    numbers = range(1, len(fields(Usage)) + 1)
    assert astuple(Usage(*numbers) + Usage(*numbers)) == tuple(2 * n for n in numbers)
    assert Usage(*numbers) - Usage(*numbers) == Usage()


def rows_in(folder: Path, query: str) -> list[Any]:
    """What a reader of its own finds in the database, of what is committed."""
    with closing(sqlite3.connect(folder / "tmas.sqlite")) as database:
        return database.execute(query).fetchall()


async def names_in(calls: SqliteCalls) -> list[str]:
    return [call.id async for call in calls.all()]


async def test_a_call_comes_back_as_it_was_noted(calls: SqliteCalls) -> None:
    whole = made(
        "0b",
        "verification",
        iteration=3,
        index=2,
        cut={"solutions": 3},
        n=2,
        seed=None,
        sampling={"temperature": 0.5, "extra": {"top_k": [1, 2]}},
        purpose="retry",
        replies=(
            Reply("a", "b", "length", Usage(2, 3, 4, 5, 6, 7, 0.5), "c"),
            Reply("", finish_reason="content_filter"),
        ),
        sendings=(sent(status=None, outcome="broke off", queued=1.5), sent(NOON + 9)),
    )
    for call in (whole, failed()):
        await calls.note(call)
        assert await calls.get(call.id) == call


async def test_a_call_whose_note_nobody_awaits_is_stored_before_the_store_closes(
    tmp_path: Path,
) -> None:
    async with open_threads(tmp_path) as store:
        store.calls("t").note(made())
    assert rows_in(tmp_path, "SELECT id, thread FROM tmas_calls") == [("0a", "t")]


async def test_a_cancelled_callers_call_is_stored(tmp_path: Path) -> None:
    async with open_threads(tmp_path) as store:
        calls = store.calls("t")

        async def ask() -> None:
            await calls.note(made())

        asking = asyncio.create_task(ask())
        await asyncio.sleep(0)  # it has begun, and waits
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert [call.id async for call in calls.all()] == ["0a"]


async def test_who_stops_waiting_for_all_writes_stops_none(tmp_path: Path) -> None:
    async with open_threads(tmp_path) as store:
        noted = store.calls("t").note(made())
        waiting = asyncio.create_task(store.saver.flush())
        await asyncio.sleep(0)  # the write is under way, and it waits
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await noted
    assert rows_in(tmp_path, "SELECT id FROM tmas_calls") == [("0a",)]


async def test_a_call_noted_just_now_can_be_fetched_at_once(calls: SqliteCalls) -> None:
    noted = calls.note(made())
    assert await calls.get("0a") == made()
    await noted


async def test_a_text_is_stored_once_however_many_calls_send_it(
    tmp_path: Path, store: ThreadStore
) -> None:
    text = "Check this. " * 5000
    for thread in ("t", "u"):
        calls = store.calls(thread)
        noted = [calls.note(made(f"{thread}{i}", text=text)) for i in range(8)]
        await asyncio.gather(*noted)
        await calls.note(made(f"{thread}9", text=text))
    assert rows_in(tmp_path, "SELECT COUNT(*) FROM tmas_texts") == [(2,)]
    [(size,)] = rows_in(tmp_path, "SELECT SUM(LENGTH(body)) FROM tmas_calls")
    assert size < 18 * 1000


async def test_calls_come_in_order_of_time_whatever_their_number(calls: SqliteCalls) -> None:
    times = {f"{i:03}": NOON + (i * 37 % 250) // 2 for i in range(250)}  # in pairs at one time
    for name, began in times.items():
        noted = calls.note(made(name, sendings=(sent(began),)))
    await noted
    ordered = sorted(times, key=lambda name: (times[name], name))
    assert await names_in(calls) == ordered
    assert [row.id async for row in calls.rows()] == ordered


async def test_other_threads_calls_are_not_seen(store: ThreadStore) -> None:
    await store.calls("t").note(made())
    other = store.calls("u")
    assert await names_in(other) == []
    assert await other.spent() == Usage()
    assert await other.find("0") == []
    with pytest.raises(StorageError, match="call 0a of thread u isn't in"):
        await other.get("0a")


async def test_a_row_says_what_a_table_needs(calls: SqliteCalls) -> None:
    replies = (Reply("x"), Reply("y"), Reply("z", finish_reason="length"))
    await calls.note(made("01", iteration=1, index=2, n=4, replies=replies, cut={"texts": 1}))
    await calls.note(failed("02"))
    first, second = [row async for row in calls.rows()]
    assert (first.iteration, first.candidate, first.role) == (1, 2, "solution")
    assert (first.n, first.replies, first.outcome) == (4, 3, "2 whole, 1 truncated")
    assert (first.model, first.cut, first.seconds) == ("served", {"texts": 1}, 2.0)
    assert first.usage == Usage(1, 100, 20)
    assert (second.outcome, second.cause) == ("failed", "it is overloaded")
    assert (second.model, second.usage) == ("asked", Usage(2))
    assert (second.ended - second.began, second.queued, second.seconds) == (6.0, 1.0, 5.0)


async def test_what_was_spent_is_the_sum_over_every_field(store: ThreadStore) -> None:
    usage = Usage(1, 2, 3, 4, 5, 6, 0.25)
    assert len(fields(Usage)) == 7
    calls = store.calls("t")
    for i in range(4):
        calls.note(made(f"{i}", sendings=(sent(usage=usage), sent(usage=usage))))
    calls.note(made("0", sendings=(sent(usage=usage),)))
    assert await calls.spent() == sum([usage] * 7, Usage())


async def test_time_under_way_counts_overlaps_once_and_pauses_never(calls: SqliteCalls) -> None:
    spans = [(0, 10), (2, 3), (5, 12), (100, 101)]
    for i, (began, ended) in enumerate(spans):
        sending = sent(NOON + began, ended - began)
        await calls.note(made(f"{i}", sendings=(sending,)))
    await calls.note(made("queued", sendings=(sent(NOON + 201, 1, queued=1.0),)))
    await calls.note(made("never sent", sendings=(), replies=()))
    assert await calls.seconds() == 12 + 1 + 2


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=12))
def test_the_length_of_a_union_is_that_of_its_ticks(spans: list[tuple[int, int]]) -> None:
    intervals = sorted((began, began + length) for began, length in spans)
    ticks = {tick for began, ended in intervals for tick in range(began, ended)}
    assert covered(intervals) == len(ticks)


TEXT = st.text(
    st.characters(exclude_categories=()), max_size=60
)  # lone surrogates and NULs among them
AWKWARD = [
    "\ud800",
    "\ud83d\ude00 as two",
    "😀",
    "a\0b",
    "\x85\u2028\u2029\r\n",
    "\ufeff",
    "{{",
    "",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(TEXT | st.sampled_from(AWKWARD), min_size=5, max_size=5))
async def test_every_text_comes_back_exactly(calls: SqliteCalls, texts: list[str]) -> None:
    asked, said, thought, cause, key = texts
    replies = (Reply(said, thought, refusal=cause),)
    call = made(text=asked, replies=replies, cause=cause, served=said, sampling={key: asked})
    await calls.note(call)
    got = await calls.get(call.id)
    assert got == call
    assert list(got.sampling) == [key]
    [row] = [row async for row in calls.rows()]
    assert row.cause == cause.encode("utf-8", "backslashreplace").decode()


async def test_a_huge_text_comes_back(calls: SqliteCalls) -> None:
    call = made(text="∀x " * 2_000_000, replies=(Reply("7" * 5_000_000),))
    await calls.note(call)
    assert await calls.get(call.id) == call


async def test_calls_are_found_by_how_their_ids_begin(calls: SqliteCalls) -> None:
    for name in ("ab1", "ab2", "b%"):
        await calls.note(made(name))
    assert await calls.find("ab") == ["ab1", "ab2"]
    assert await calls.find("ab", most=1) == ["ab1"]
    assert await calls.find("b%") == ["b%"]
    assert await calls.find("%") == []
    assert await calls.find("\udcff'") == []


async def test_a_missing_text_says_what_to_do(tmp_path: Path, calls: SqliteCalls) -> None:
    await calls.note(made())
    with closing(sqlite3.connect(tmp_path / "tmas.sqlite")) as database, database:
        database.execute("DELETE FROM tmas_texts")
    with pytest.raises(StorageError, match=r"message .* any more\. Bring that file back"):
        await calls.get("0a")


async def test_a_damaged_call_says_what_to_do(tmp_path: Path, calls: SqliteCalls) -> None:
    await calls.note(made())
    with closing(sqlite3.connect(tmp_path / "tmas.sqlite")) as database, database:
        database.execute("UPDATE tmas_calls SET body = substr(body, 9)")
    with pytest.raises(StorageError, match="Bring that file back"):
        await names_in(calls)


async def test_a_text_of_a_failed_commit_is_sent_again(tmp_path: Path, calls: SqliteCalls) -> None:
    with closing(sqlite3.connect(tmp_path / "tmas.sqlite")) as database:
        database.execute("ALTER TABLE tmas_calls RENAME TO away")
        with pytest.raises(StorageError, match=r"can't be written \(.*\)\. See to its disk"):
            await calls.note(made("01"))
        database.execute("ALTER TABLE away RENAME TO tmas_calls")
        await calls.note(made("02"))
    assert await calls.get("02") == made("02")


async def test_a_database_without_the_tables_gets_them_when_it_is_opened(tmp_path: Path) -> None:
    async with open_threads(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "tmas.sqlite")) as database, database:
        database.execute("DROP TABLE tmas_calls")
        database.execute("DROP TABLE tmas_texts")
    async with open_threads(tmp_path) as store:
        await store.calls("t").note(made())
        assert await store.calls("t").get("0a") == made()


async def test_calls_of_a_thread_that_runs_elsewhere_can_be_read(tmp_path: Path) -> None:
    async with open_threads(tmp_path) as writing, open_threads(tmp_path) as reading:
        await writing.calls("t").note(made("01"))
        assert await names_in(reading.calls("t")) == ["01"]
        await writing.calls("t").note(made("02"))
        assert await names_in(reading.calls("t")) == ["01", "02"]


async def test_a_call_can_be_noted_while_all_are_read(calls: SqliteCalls) -> None:
    for i in range(150):
        await calls.note(made(f"{i:03}"))
    seen: list[Call] = []
    async for call in calls.all():
        await calls.note(replace(call, cause="seen"))
        seen.append(call)
    assert len(seen) == 150
