"""Threads that are copied from one state folder into another."""

from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server
from runs_on_script import begun, problems_file, settings

from tmas_graph.call_sums import spent_by_thread
from tmas_graph.errors import StorageError
from tmas_graph.thread_copies import copy_threads, settle_memories, thread_names
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


@pytest.fixture
async def run(tmp_path: Path) -> Path:
    """A run of two problems, of a thread each."""
    async with server(script=Reasoner().short(), role_of=role_of) as at:
        await begun(tmp_path / "run", problems_file(tmp_path, 2), settings(at), ["tmas"])
    return tmp_path / "run"


async def contents(folder: Path, name: str) -> tuple:
    async with open_threads(folder) as store:
        calls = [call async for call in store.calls(name).all()]
        values = await store.values(name)
        spent = (await spent_by_thread(store.saver))[name]
        return (await store.get(name)).status, calls, values["result"], spent


async def test_a_copy_holds_the_state_the_calls_and_their_texts(run, tmp_path) -> None:
    names = thread_names(run)
    assert len(names) == 2
    one = min(names)
    copy_threads(run, tmp_path / "copy", {one})
    assert thread_names(tmp_path / "copy") == {one}
    assert await contents(tmp_path / "copy", one) == await contents(run, one)


async def test_a_copy_that_comes_back_replaces_what_was_there(run, tmp_path) -> None:
    one, other = sorted(thread_names(run))
    before = await contents(run, other)
    copy_threads(run, tmp_path / "copy", {one})
    async with open_threads(tmp_path / "copy") as store:
        await store._db.execute("UPDATE tmas_threads SET status = 'budget'")
        await store._db.commit()
    for _ in range(2):  # a second time changes nothing
        copy_threads(tmp_path / "copy", run)
        assert (await contents(run, one))[0] == "budget"
    assert await contents(run, other) == before


async def test_a_settled_memory_moves_with_its_folder(run, tmp_path) -> None:
    names = thread_names(run)
    settle_memories(run, names, "memory")
    moved = run.rename(tmp_path / "moved")
    async with open_threads(moved) as store:
        folders = {record.settings.memory_folder for record in await store.all()}
    assert folders == {str(moved / "memory")}


async def test_of_a_folder_without_threads_nothing_is_copied(tmp_path: Path) -> None:
    copy_threads(tmp_path / "none", tmp_path / "copy")
    assert thread_names(tmp_path / "none") == set()
    assert not (tmp_path / "copy").exists()


async def test_a_target_that_can_not_be_written_is_named(run, tmp_path) -> None:
    (tmp_path / "copy").write_text("a file")
    with pytest.raises(StorageError, match=r"can't be copied to .*copy"):
        copy_threads(run, tmp_path / "copy")
