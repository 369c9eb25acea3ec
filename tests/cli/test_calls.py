"""`tmas show THREAD --calls` and `--call ID`."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Tmas
from made import NOON, failed, made, sent

from tmas_graph import Problem, Settings
from tmas_graph.cli.columns import Column, fitted
from tmas_graph.models.calls import Call, restored
from tmas_graph.models.replies import Reply
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage

PAID = Usage(1, 1000, 500, 300, 640, 0, 0.0125)
CALLS = (
    made("aa11", text="What is 6·7?"),
    made("ab22", "verification", index=1, n=4, sendings=(sent(NOON + 3, usage=PAID),)),
    failed(
        "ac33",
        began=NOON + 5,
        cause="http://127.0.0.1:80/v1: it is overloaded",
        role="summary",
        iteration=1,
        index=0,
        purpose="retry",
    ),
    made("ad44", "guideline", iteration=1, cut={"solutions": 3}, sendings=(sent(NOON + 9, 1.25),)),
)


def thread_of(place: Path, *calls: Call) -> str:
    """A thread with these calls."""

    async def make() -> str:
        async with open_threads(place / "home") as store:
            record = await store.create(Problem("What is 6·7?"), Settings(), {})
            for call in calls:
                await store.calls(record.id).note(call)
            return record.id

    return asyncio.run(make())


@pytest.fixture
def thread(place: Path) -> str:
    return thread_of(place, *CALLS)


def lines_of(tmas: Tmas, *arguments: str) -> list[list[str]]:
    done = tmas("show", *arguments)
    assert (done.code, done.err) == (0, "")
    return [line.split() for line in done.out.splitlines()]


def test_calls_are_listed_with_what_each_cost_and_how_it_ended(tmas: Tmas, thread: str) -> None:
    head, *rows = lines_of(tmas, thread, "--calls")
    assert " ".join(head) == (
        "call when t.i role purpose requests prompt cached completion thinking cost seconds "
        "queued ending"
    )
    told = [" ".join([row[0], *row[2:]]) for row in rows[:4]]
    assert told == [
        "aa11 0.0 solution 1 100 0 20 0 2.0 0.0 whole",
        "ab22 0.1 verification 1 1000 640 500 300 0.0125 2.0 0.0 whole · 1 of 4 came",
        "ac33 1.0 summary retry 2 0 0 0 0 5.0 1.0 it is overloaded",
        "ad44 1 guideline 1 100 0 20 0 1.2 0.0 whole · cut 3 solutions",
    ]


def test_sums_are_by_role_by_iteration_and_of_all(tmas: Tmas, thread: str) -> None:
    rows = [" ".join(row) for row in lines_of(tmas, thread, "--calls")][6:]
    assert rows == [
        "sum calls requests prompt cached completion thinking cost seconds",
        "solution 1 1 100 0 20 0 2.0",
        "verification 1 1 1000 640 500 300 0.0125 2.0",
        "summary 1 2 0 0 0 0 5.0",
        "guideline 1 1 100 0 20 0 1.2",
        "iteration 0 2 2 1100 640 520 300 0.0125 4.0",
        "iteration 1 2 3 100 0 20 0 6.2",
        "all 4 5 1200 640 540 300 0.0125 10.2",
        f"tmas show {thread} --call ID tells all of one.",
    ]


def test_the_table_fits_a_narrow_terminal_and_keeps_what_matters(
    tmas: Tmas, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (40, 60, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        out = tmas("show", thread, "--calls").out
        table = out.splitlines()[:-1]  # the hint may wrap
        assert max(map(len, table)) <= width
        for text in ("ab22", "verification", "whole", "it is"):
            assert text in out
        assert len([line for line in table if "whole" in line]) == 3


def test_columns_go_by_rank_and_blank_ones_first() -> None:
    columns = [
        Column("name", ["x" * 10]),
        Column("blank", ["0"], optional=True),
        Column("late", ["12345"], 2),
        Column("early", ["12345"], 3),
        Column("end", ["y" * 50]),
    ]
    titles = {width: [c.title for c in fitted(columns, width)] for width in (38, 37, 30, 5)}
    assert titles == {
        38: ["name", "late", "early", "end"],
        37: ["name", "late", "end"],
        30: ["name", "end"],
        5: ["name", "end"],
    }


def test_rows_are_printed_as_one_json_array(tmas: Tmas, thread: str) -> None:
    rows = json.loads(tmas("show", thread, "--calls", "--json").out)
    assert [row["id"] for row in rows] == ["aa11", "ab22", "ac33", "ad44"]
    assert rows[1]["usage"]["cached_tokens"] == 640
    assert (rows[2]["outcome"], rows[2]["seconds"]) == ("failed", 5.0)
    assert rows[3]["cut"] == {"solutions": 3}


def test_calls_are_printed_whole_as_json_lines(tmas: Tmas, thread: str) -> None:
    done = tmas("show", thread, "--calls", "--jsonl")
    assert tuple(restored(json.loads(line)) for line in done.out.splitlines()) == CALLS


def test_a_call_is_shown_whole(tmas: Tmas, place: Path) -> None:
    replies = (Reply("It is 42.", "6 times 7"), Reply("No idea", finish_reason="length"))
    sendings = (sent(status=503, outcome="HTTP 503"), sent(NOON + 4))
    thread = thread_of(place, made("beef01", n=2, replies=replies, sendings=sendings))
    for text in (
        "call beef01 · solution 0.0 · first · 1 whole, 1 truncated",
        "model: asked (served: served)",
        "endpoint: http://127.0.0.1:8000/v1",
        "sampling: n 2 · seed 2048 · temperature 0.6 · top_p 0.95 · max_tokens 500",
        "─ system ─",
        "You solve problems.",
        "─ user ─",
        "Solve it",
        "─ thinking 1 of 2 ─",
        "6 times 7",
        "─ reply 1 of 2 · whole (stop) ─",
        "It is 42.",
        "─ reply 2 of 2 · truncated (length) ─",
        "HTTP 503",
        "answered",
    ):
        assert text in tmas("show", thread, "--call", "be").out
    plain = json.loads(tmas("show", thread, "--call", "beef01", "--json").out)
    assert restored(plain).replies == replies


def test_a_failed_call_is_shown_with_its_cause(tmas: Tmas, thread: str) -> None:
    out = tmas("show", thread, "--call", "ac").out
    assert "summary 1.0 · retry · it is overloaded" in out
    assert out.count("503") == 4  # the statuses, and what they mean


def test_texts_cant_steer_the_terminal(tmas: Tmas, place: Path) -> None:
    hostile = "a\x1b[2J\x07\r\ud800[bold]b\x9b1m\tc\n日本"
    thread = thread_of(
        place,
        made("01", text=hostile, replies=(Reply(hostile, hostile),), cut={hostile: 1}),
        failed("02", cause=hostile),
    )
    for arguments in (["--calls"], ["--call", "01"], ["--call", "02"]):
        out = tmas("show", thread, *arguments).out
        assert not set(out) & set("\x1b\x07\r\ud800\x9b")
        assert "\\x1b[2J" in out
        assert "[bold]b" in out


def test_a_text_too_long_for_a_terminal_is_cut_and_says_where_all_of_it_is(
    tmas: Tmas, place: Path
) -> None:
    long = "a" * 200_000
    thread = thread_of(place, made("01", replies=(Reply(f"{long}bb"), Reply(long))))
    out = tmas("show", thread, "--call", "01").out
    assert out.count("a" * 200) >= 2 * 200_000 // 300
    assert "bb" not in out
    assert out.count("… 2 characters more: --call ID --json prints all.") == 1
    whole = json.loads(tmas("show", thread, "--call", "01", "--json").out)
    assert restored(whole).replies[0].text == f"{long}bb"


def test_a_thread_without_calls_says_so(tmas: Tmas, place: Path) -> None:
    thread = thread_of(place)
    assert tmas("show", thread, "--calls").out == f"No calls in {thread} yet.\n"
    assert json.loads(tmas("show", thread, "--calls", "--json").out) == []
    assert tmas("show", thread, "--calls", "--jsonl").out == ""


def test_calls_of_a_thread_that_runs_can_be_looked_at(tmas: Tmas, place: Path) -> None:
    thread = thread_of(place, made("01"))

    async def look() -> str:
        async with open_threads(place / "home") as store:
            with store._owned(thread):
                await store.calls(thread).note(made("02"))
                done = await asyncio.to_thread(tmas, "show", thread, "--calls", "--json")
                return done.out

    assert [row["id"] for row in json.loads(asyncio.run(look()))] == ["01", "02"]


def test_wrong_names_are_the_users_mistake(tmas: Tmas, thread: str) -> None:
    assert "--call: it is empty." in tmas.mistake("show", thread, "--call", "")
    for given in ("zz", "%", "\udcff"):
        said = tmas.mistake("show", thread, "--call", given)
        assert "begins with" in said
        assert said.endswith(f"`tmas show {thread} --calls` lists them.")
    said = tmas.mistake("show", thread, "--call", "a")
    assert said == "--call: 'a' is how aa11, ab22, ac33, ad44 begin. Give more of it."
    for arguments in (["--calls"], ["--call", "aa"], ["--calls", "--jsonl"], []):
        assert "threads: there is no 'nope" in tmas.mistake("show", "nope\udcff", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [["--calls", "--call", "aa"], ["--jsonl"], ["--calls", "--jsonl", "--json"]],
)
def test_options_that_dont_go_together_are_refused(
    tmas: Tmas, thread: str, arguments: list[str]
) -> None:
    done = tmas("show", thread, *arguments)
    assert (done.code, done.out) == (2, "")


def test_an_id_that_begins_another_can_still_be_named(tmas: Tmas, place: Path) -> None:
    thread = thread_of(place, made("01"), made("012"))
    plain: Any = json.loads(tmas("show", thread, "--call", "01", "--json").out)
    assert plain["id"] == "01"
