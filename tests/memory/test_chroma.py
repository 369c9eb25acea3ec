"""Stores in folders: one writer, many at once, damage, and what is no damage."""

import asyncio
import multiprocessing
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tmas_graph.errors import StorageError
from tmas_graph.memory.chroma import Row, Store, Where, open_store
from tmas_graph.memory.chroma_client import DATABASE, Client
from tmas_graph.memory.damage import is_damaged

pytestmark = pytest.mark.anyio
NAME = "tests"
ABOUT = {"embedder": "tests", "dimension": 3}
MANY = 1100
"""Rows after which Chroma has written its index to files."""


def rows(count: int, start: int = 0) -> list[Row]:
    return [
        Row(f"id{i}", f"text {i}", {"n": i}, [1.0, float(i), 2.0])
        for i in range(start, start + count)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory"


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[Store]:
    store = Store(Where(str(folder)))
    yield store
    await store.close()


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def filled(folder: Path, count: int) -> None:
    store = Store(Where(str(folder)))
    await store.write(NAME, rows(count), ABOUT)
    await store.close()


def write_and_wait(folder: str, pipe: Connection) -> None:
    """Write a row in a process of its own, and hold the lock until told to end."""

    async def work() -> None:
        store = Store(Where(folder))
        await store.write(NAME, rows(1), ABOUT)
        pipe.send("written")
        pipe.recv()
        await store.close()

    asyncio.run(work())


async def test_another_process_reads_while_one_writes_but_may_not_write(
    folder: Path, store: Store
) -> None:
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=write_and_wait, args=(str(folder), theirs))
    process.start()
    assert ours.recv() == "written"
    reader = Store(store.where, writable=False)
    assert list(await reader.read(NAME, ["id0"])) == ["id0"]
    await reader.close()
    with pytest.raises(StorageError) as raised:
        await store.write(NAME, rows(1), ABOUT)
    assert str(raised.value) == (
        f"memory: another process writes to {folder}. Wait for it, give another memory_folder, "
        "or let both use one Chroma server (memory_server)."
    )
    process.kill()
    process.join()
    await store.write(NAME, rows(2), ABOUT)


async def test_two_spellings_of_a_folder_are_one(folder: Path, store: Store) -> None:
    await store.write(NAME, rows(1), ABOUT)
    other = Store(Where(f"{folder.parent}/../{folder.parent.name}/{folder.name}/"))
    await other.write(NAME, rows(1, 1), ABOUT)
    assert len(await store.read(NAME, ["id0", "id1"])) == 2
    await other.close()


async def test_to_read_makes_nothing(folder: Path) -> None:
    reader = Store(Where(str(folder)), writable=False)
    assert await reader.read(NAME, ["id0"]) == {}
    assert await reader.open(NAME) == {}
    assert await reader.ids(NAME) == []
    await reader.close()
    assert entries(folder.parent) == []


async def test_what_is_opened_to_be_read_cant_be_written(folder: Path) -> None:
    reader = Store(Where(str(folder)), writable=False)
    with pytest.raises(StorageError, match="was opened to be read"):
        await reader.write(NAME, rows(1), ABOUT)
    await reader.close()
    assert entries(folder.parent) == []


async def test_writes_that_wait_together_are_written_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(Where(str(folder)), connect=Client)
    await store.write(NAME, rows(1), ABOUT)
    client = store._made()
    puts: list[int] = []

    def put(name: str, some: list[Row]) -> None:
        puts.append(len(some))
        type(client).put(client, name, some)

    monkeypatch.setattr(client, "put", put, raising=True)
    await asyncio.gather(*(store.write(NAME, rows(2, i), ABOUT) for i in range(100)))
    assert len(puts) < 20
    assert len(await store.ids(NAME)) == 101
    await store.close()


async def test_a_row_that_cant_be_written_is_its_own_writers_fault(store: Store) -> None:
    await store.write(NAME, rows(1), ABOUT)
    bad = Row("bad", "text", {"n": 0}, [1.0])
    writes = [store.write(NAME, [row], ABOUT) for row in (*rows(3), bad, *rows(3, 3))]
    done = await asyncio.gather(*writes, return_exceptions=True)
    failed = [error for error in done if error is not None]
    assert [type(error) for error in failed] == [StorageError]
    assert done[3] is failed[0]
    assert len(await store.ids(NAME)) == 6


async def test_vectors_of_another_width_are_refused_with_the_way_out(store: Store) -> None:
    await store.write(NAME, rows(1))
    with pytest.raises(StorageError, match=r"another width \(.*3, got 1.*Run `tmas memory reembed"):
        await store.write(NAME, [Row("bad", "text", {"n": 0}, [1.0])])


async def test_the_last_user_closes_the_store(store: Store, folder: Path) -> None:
    other = Store(store.where)
    async with store.held():
        async with store.held():
            await store.write(NAME, rows(1), ABOUT)
        assert store._client is not None
    assert store._client is None
    assert store._worker is None
    await other.write(NAME, rows(1), ABOUT)
    assert len(await store.read(NAME, ["id0"])) == 1
    await other.close()


async def test_more_rows_than_one_request_takes(store: Store) -> None:
    some = rows(600)
    await store.write(NAME, some, ABOUT)
    assert list(await store.read(NAME, [row.id for row in some])) == [row.id for row in some]


def garbage(folder: Path) -> None:
    (folder / DATABASE).write_bytes(b"garbage" * 1000)


def half_a_database(folder: Path) -> None:
    os.truncate(folder / DATABASE, (folder / DATABASE).stat().st_size // 2)


def overwritten_pages(folder: Path) -> None:
    size = (folder / DATABASE).stat().st_size
    with (folder / DATABASE).open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * (size - 3 * 4096))


def index_files(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("*/*") if path.is_file()]
    assert found, "Chroma has written no index"
    return found


def no_index(folder: Path) -> None:
    for path in index_files(folder):
        shutil.rmtree(path.parent, ignore_errors=True)


def no_index_files(folder: Path) -> None:
    for path in index_files(folder):
        if path.suffix == ".bin":
            path.unlink()


def half_an_index(folder: Path) -> None:
    for path in index_files(folder):
        os.truncate(path, path.stat().st_size // 2)


def no_table(folder: Path) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        database.execute("DROP TABLE collections")


def no_segments(folder: Path) -> None:
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        database.execute("DROP TABLE segments")  # of which Chroma says only that it failed


def a_folder_instead(folder: Path) -> None:
    (folder / DATABASE).unlink()
    (folder / DATABASE).mkdir()


DAMAGES = [
    no_table,
    no_segments,
    a_folder_instead,
    garbage,
    half_a_database,
    overwritten_pages,
    no_index,
    no_index_files,
    half_an_index,
]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_folder_is_moved_aside_and_begun_anew(
    folder: Path, store: Store, damage: Callable[[Path], None]
) -> None:
    await filled(folder, MANY)
    (folder / "notes.txt").write_text("mine")
    damage(folder)
    assert await store.read(NAME, ["id0", "id1"], vectors=True) == {}
    [aside] = folder.parent.glob("memory.damaged-*")
    [said] = store.notices()
    assert said.startswith(f"memory: {folder} is damaged (")
    assert str(aside) in said
    assert store.notices() == []
    assert (aside / DATABASE).exists()
    assert (folder / "notes.txt").read_text() == "mine"
    await store.write(NAME, rows(2), ABOUT)
    assert list(await store.read(NAME, ["id0", "id1"], vectors=True)) == ["id0", "id1"]


async def test_a_folder_in_the_locks_place_is_said(folder: Path, store: Store) -> None:
    (folder / "tmas.lock").mkdir(parents=True)
    with pytest.raises(StorageError) as raised:
        await store.claim()
    assert str(raised.value) == f"memory: {folder}/tmas.lock is a folder. Move it away."


async def test_damage_that_shows_in_writing_is_mended_in_writing(
    folder: Path, store: Store
) -> None:
    await filled(folder, 3)
    garbage(folder)
    await store.write(NAME, rows(2), ABOUT)
    assert await store.ids(NAME) == ["id0", "id1"]


async def test_a_reader_leaves_a_damaged_folder_as_it_is(folder: Path) -> None:
    await filled(folder, 3)
    garbage(folder)
    reader = Store(Where(str(folder)), writable=False)
    with pytest.raises(StorageError, match=r"can't be used \(.*not a database"):
        await reader.read(NAME, ["id0"])
    await reader.close()
    assert entries(folder.parent) == ["memory"]


async def test_a_folder_that_another_process_writes_to_is_never_moved(
    folder: Path, store: Store
) -> None:
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe()
    process = context.Process(target=write_and_wait, args=(str(folder), theirs))
    process.start()
    assert ours.recv() == "written"
    garbage(folder)
    with pytest.raises(StorageError, match="another process writes to"):
        await store.read(NAME, ["id0"])
    process.kill()
    process.join()
    assert entries(folder.parent) == ["memory"]


async def test_a_folder_of_a_newer_chroma_is_never_moved(folder: Path, store: Store) -> None:
    await filled(folder, MANY)
    half_an_index(folder)
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        database.execute(
            "INSERT INTO migrations SELECT dir, version + 1, 'a', 'b', 'c' FROM migrations "
            "WHERE dir = 'sysdb' ORDER BY version DESC LIMIT 1"
        )
    with pytest.raises(StorageError, match="can't be used"):
        await store.read(NAME, ["id0"], vectors=True)
    assert entries(folder.parent) == ["memory"]


@pytest.mark.parametrize(
    "said",
    [
        "error returned from database: (code: 5) database is locked",
        "error returned from database: (code: 13) database or disk is full",
        "error returned from database: (code: 14) unable to open database file",
        "error returned from database: (code: 8) attempt to write a readonly database",
        "error returned from database: (code: 1032) attempt to write a readonly database",
        "error returned from database: (code: 10) disk I/O error",
        "Inconsistent hash: db=ffff, source=b136",
        "Collection expecting embedding with dimension of 3, got 2",
    ],
)
def test_other_faults_are_no_damage(tmp_path: Path, said: str) -> None:
    assert not is_damaged(tmp_path, RuntimeError(said))


def test_an_index_that_cant_be_read_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "header.bin").write_bytes(b"")

    def refused(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    assert not is_damaged(tmp_path, RuntimeError("Error loading hnsw index"))


async def test_files_that_cant_be_moved_aside_are_said(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(folder, 1)
    garbage(folder)

    def refused(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "move", refused)
    with pytest.raises(StorageError, match=r"is damaged, and can't be moved aside \(Permission"):
        await store.read(NAME, ["id0"])
    assert (folder / DATABASE).exists()


def test_one_store_per_place() -> None:
    assert open_store(Where("x")) is open_store(Where("x"))
    assert open_store(Where("x")) is not open_store(Where("x", "http://127.0.0.1:1"))
