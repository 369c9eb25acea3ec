import asyncio
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made import failed, made

from tmas_graph.errors import StorageError
from tmas_graph.models.calls import restored
from tmas_graph.models.jsonl_calls import JsonlCalls
from tmas_graph.models.replies import Reply

pytestmark = pytest.mark.anyio


async def note(path: Path, *calls: Any) -> None:
    async with JsonlCalls(path) as log:
        for call in calls:
            await log.note(call)


def calls_in(path: Path) -> list[Any]:
    return [restored(json.loads(line)) for line in path.read_text().splitlines()]


async def test_calls_are_lines_that_give_them_back(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await note(path, made("01"))
    await note(path, failed("02"))  # what is there stays
    assert calls_in(path) == [made("01"), failed("02")]


async def test_calls_are_in_the_order_of_their_notes_though_nobody_awaits_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "calls.jsonl"
    names = [f"{i:04}" for i in range(500)]
    async with JsonlCalls(path) as log:
        for name in names:
            log.note(made(name))
    assert [call.id for call in calls_in(path)] == names


async def test_a_cancelled_callers_call_is_written(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    async with JsonlCalls(path) as log:

        async def ask() -> None:
            for i in range(100):
                log.note(made(f"{i}"))
            await log.note(made("last"))

        asking = asyncio.create_task(ask())
        await asyncio.sleep(0)  # it has begun
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert calls_in(path)[-1].id == "last"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters()) | st.sampled_from(["a\0b", "\x85\u2028\r\n", "😀", '"\\u0000"']))
async def test_every_text_is_one_line_and_comes_back_exactly(tmp_path: Path, text: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.unlink(missing_ok=True)
    call = made(text=text, replies=(Reply(text, text),))
    await note(path, call)
    assert calls_in(path) == [call]


async def test_text_that_is_no_unicode_is_written_as_json_escapes_it(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await note(path, made(text="\ud800!"))
    assert calls_in(path) == [made(text="\ud800!")]
    assert path.read_bytes().isascii()


@pytest.mark.parametrize("kept", [1, 40, 100, -2])
async def test_a_line_that_a_crash_cut_short_is_taken_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: int
) -> None:
    path = tmp_path / "calls.jsonl"
    await note(path, made("01"), made("02", text="x" * 200_000))
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[: max(kept, 6) if kept > 0 else kept])
    await note(path, made("03"))
    assert [call.id for call in calls_in(path)] == ["01", "03"]
    assert f"{path}: cut off its last line" in caplog.text


async def test_a_last_line_that_lacks_only_its_end_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await note(path, made("01"))
    path.write_bytes(path.read_bytes()[:-1])
    await note(path, made("02"))
    assert [call.id for call in calls_in(path)] == ["01", "02"]


async def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("My notes\nand more")
    with pytest.raises(StorageError, match=r"its last line is no call \(b'and more'\)\. Give an"):
        JsonlCalls(path)
    assert path.read_text() == "My notes\nand more"


@pytest.mark.parametrize("place", ["", "missing/calls.jsonl"])
async def test_a_file_that_cant_be_opened_says_what_to_do(tmp_path: Path, place: str) -> None:
    with pytest.raises(StorageError, match=r"can't be written \(.*\)\. Give another file"):
        JsonlCalls(tmp_path / place)


async def test_a_full_disk_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "calls.jsonl"
    write, fails = os.write, [False, True]

    def nearly_full(file: int, line: bytes) -> int:
        if fails.pop(0):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, line[:10])

    async with JsonlCalls(path) as log:
        await log.note(made("01"))
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", nearly_full)
            with pytest.raises(StorageError, match=r"can't be written \(No space left on device"):
                await log.note(made("02"))
        await log.note(made("03"))
    assert [call.id for call in calls_in(path)] == ["01", "03"]
