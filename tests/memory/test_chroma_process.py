"""Chroma's own process: this one never loads Chroma, and loses nothing when that one is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from tmas_graph.errors import StorageError
from tmas_graph.memory import chroma_process, chroma_worker
from tmas_graph.memory.chroma import Row, Store, Where
from tmas_graph.memory.chroma_client import DATABASE, Client

pytestmark = pytest.mark.anyio
NAME = "tests"
ROWS = [Row(f"id{i}", f"text {i}", {"n": i}, [1.0, float(i), 2.0]) for i in range(5)]
IDS = [row.id for row in ROWS]
SCRIPT = """
import asyncio, sys
from tmas_graph.memory.chroma import Row, Store, Where

async def work():
    store = Store(Where(sys.argv[1]))
    await store.write("tests", [Row("a", "text", {"n": 1}, [1.0, 2.0])])
    print("chromadb" in sys.modules, list(await store.read("tests", ["a"])))

asyncio.run(work())
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = Store(Where(str(tmp_path / "memory")))
    yield store
    await store.close()


def process_id() -> int:
    running = chroma_process._process_of(os.getpid())._running
    assert running is not None
    return running.pid


def test_chroma_is_never_loaded_here_and_its_process_ends_with_this_one(tmp_path: Path) -> None:
    # Neither is the store closed in it, as where a user's script ends by an error.
    script = [sys.executable, "-c", SCRIPT, str(tmp_path / "memory")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("False ['a']\n", "")


async def test_begun_ahead_it_is_the_one_that_serves(tmp_path: Path) -> None:
    chroma_process._process_of(os.getpid()).end()
    chroma_process.begin()
    with closing(chroma_process.connect(Where(str(tmp_path / "m")))) as client:
        first = process_id()
        chroma_process.begin()
        assert client.about(NAME) is None
    assert process_id() == first


async def test_all_stores_are_kept_by_one_process(store: Store, tmp_path: Path) -> None:
    other = Store(Where(str(tmp_path / "other")))
    await store.write(NAME, ROWS)
    first = process_id()
    await other.write(NAME, ROWS[:1])
    assert process_id() == first
    assert (await store.ids(NAME), await other.ids(NAME)) == (IDS, IDS[:1])
    await other.close()


async def test_a_folder_is_where_it_is_seen_from_here(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.write(NAME, ROWS)  # the process has a working directory now
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    other = Store(Where("m"))
    await other.write(NAME, ROWS)
    assert (tmp_path / "there" / "m" / DATABASE).exists()
    assert await other.ids(NAME) == IDS
    await other.close()


async def test_a_process_that_was_killed_begins_anew_and_that_is_told(store: Store) -> None:
    await store.write(NAME, ROWS[:3])
    os.kill(process_id(), signal.SIGKILL)
    await store.write(NAME, ROWS[3:])
    assert await store.ids(NAME) == IDS
    [said] = store.notices()
    assert said == (
        f"memory: the process for {store.where} was lost (exit code -9); it begins anew."
    )


async def test_one_that_cant_start_is_said_with_its_last_words(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    chroma_process._process_of(os.getpid()).end()
    monkeypatch.setattr(chroma_process, "_BEGIN", "import nothing_of_that_name")
    with pytest.raises(
        StorageError, match=r"exit code 1: .*No module named 'nothing_of_that_name'"
    ):
        await store.write(NAME, ROWS)


async def test_vectors_and_texts_come_back_as_they_were(store: Store) -> None:
    row = Row("a", "$\\alpha \\neq \u2265$ \U0001f600", {"x": "y", "z": 0.5}, [0.1, 0.2, 0.3])
    await store.write(NAME, [row])
    found = (await store.read(NAME, ["a"], vectors=True))["a"]
    assert found == row
    assert list(found.vector) == pytest.approx(row.vector)


def test_what_writes_waits_for_the_process_of_one_that_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, told = Where(str(tmp_path / "m")), "another process writes to"
    client = chroma_process.connect(where)
    client.make(NAME, {})
    desk = chroma_worker.Desk(None)  # type: ignore[arg-type]  (as in another process)
    monkeypatch.setattr(chroma_worker, "SECONDS_TO_END", 0.05)
    desk._enter(where)
    assert desk._answer("ids", (NAME,)) == ("done", [])
    outcome, said = desk._answer("put", (NAME, ROWS))
    assert outcome == "refused"
    assert told in said
    client.close()
    assert desk._answer("make", (NAME, {})) == ("done", {})
    assert desk._answer("put", (NAME, ROWS)) == ("done", None)
    desk.close()


def test_what_chroma_raises_comes_through(tmp_path: Path) -> None:
    with closing(chroma_process.connect(Where(str(tmp_path / "m")))) as client:
        assert isinstance(client, chroma_process._Remote)
        assert not isinstance(client, Client)
        with pytest.raises(chroma_process.ChromaError, match="3-512 characters") as raised:
            client.make("x", {})
    assert raised.value.kind
