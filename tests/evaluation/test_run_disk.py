"""What a run does where its disk is full, or its database lost."""

import sqlite3
from contextlib import asynccontextmanager

import pytest
from runs_on_script import begun, gone_on, rows, settings

from tmas_graph.errors import StorageError, ThreadError
from tmas_graph.evaluation import runner, sitting
from tmas_graph.evaluation.planning import More
from tmas_graph.evaluation.row_log import RowLog
from tmas_graph.evaluation.run_folder import FILE, replace_file
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


@asynccontextmanager
async def full_disk(folder):
    """The threads in `folder`, on a disk that takes no further page."""
    async with open_threads(folder) as store:
        for connection in {store.saver.conn, store._db}:
            [(pages,)] = await connection.execute_fetchall("PRAGMA page_count")
            await connection.execute_fetchall(f"PRAGMA max_page_count = {pages}")
        yield store


async def test_a_full_disk_ends_the_run_with_one_clear_error(
    at, file, tmp_path, monkeypatch, caplog
):
    folder = tmp_path / "a"
    with monkeypatch.context() as patch:
        patch.setattr(runner, "open_threads", full_disk)
        with pytest.raises(StorageError) as caught:
            await begun(folder, file, settings(at), ["chain-of-thought"])
    assert str(caught.value) == (
        f"run: {folder} can't be written (database or disk is full). Free some room, then let it "
        "go on with --resume."
    )
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert caplog.records == []
    assert (await gone_on(folder, settings(at))).done == 4


async def test_a_lost_database_is_told_and_what_it_had_cost_still_counts(at, file, tmp_path):
    folder = tmp_path / "a"
    before = await begun(folder, file, settings(at), ["chain-of-thought"])
    kept, calls = rows(folder), len(at.requests)
    for part in folder.glob("tmas.sqlite*"):
        part.unlink()
    told: list[str] = []
    after = await sitting.go_on(folder, More(), settings(at), tell=told.extend)
    assert told == ["tmas.sqlite is missing: finished calls are lost, 4 rows stay"]
    assert (rows(folder), len(at.requests)) == (kept, calls)
    assert after.purse.spent.tokens == before.purse.spent.tokens > 0


async def test_without_its_database_no_row_is_dropped_for_more_iterations(at, file, tmp_path):
    folder = tmp_path / "a"
    await begun(folder, file, settings(at), ["tmas"], limit=1)
    kept = rows(folder)
    for part in folder.glob("tmas.sqlite*"):
        part.unlink()
    with pytest.raises(ThreadError, match=r"is missing.*; all of tmas would begin anew"):
        await gone_on(folder, settings(at), changes={"iterations": 3})
    assert rows(folder) == kept


async def test_a_torn_row_that_is_made_anew_is_something_done(at, file, tmp_path):
    folder = tmp_path / "a"
    await begun(folder, file, settings(at), ["chain-of-thought"], limit=1)
    lines = (folder / "rows.jsonl").read_text()
    (folder / "rows.jsonl").write_text(lines[: len(lines) // 2])
    assert (await gone_on(folder, settings(at))).ended == 1


async def test_a_write_that_fails_leaves_nothing_beside_the_file(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StorageError, match=r"can't be written .*\. Free some room\."):
        replace_file(tmp_path / FILE, "x")
    with pytest.raises(StorageError):
        RowLog(tmp_path).keep(())
    assert list(tmp_path.iterdir()) == []
