"""Runs in this process, on a scripted server."""

import asyncio
import json

import pytest
from endpoints.behaviour import count_tokens
from endpoints.protocol import Failure, Request
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from runs_on_script import METHODS, begun, gone_on, problems_file, rows, settings

from tmas_graph.call_sums import seconds_of_all
from tmas_graph.errors import (
    AllCandidatesFailed,
    CallError,
    SettingsError,
    StorageError,
    ThreadBusy,
    ThreadChanged,
)
from tmas_graph.evaluation.books import MOST_FAILURES, Watch
from tmas_graph.evaluation.run_folder import FILE, RunLimits, owned, read_plan, thread_name
from tmas_graph.evaluation.run_rows import FILE as ROWS
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


async def test_each_problem_method_and_iteration_has_a_row(at: ScriptedServer, file, folder):
    standing = await begun(folder, file, settings(at))
    found = rows(folder)
    assert len(found) == 4 * (2 + 1 + 1)
    assert {row.method for row in found} == set(METHODS)
    for row in found:
        right = "42" if int(row.problem[1:]) % 2 else "7"
        for attempt in row.attempts:
            assert (attempt.status == "correct") == (attempt.answer == right)
        assert (row.selected.status == "correct") == (row.selected.answer == right)
        assert (row.stop == "iterations") == (row.iteration == (1 if row.method == "tmas" else 0))
        assert row.depth > 0
    assert standing.done == standing.total == 12
    assert standing.methods["tmas"].accuracy is not None


async def test_equal_answers_of_a_problem_share_a_class(at: ScriptedServer, file, folder):
    await begun(folder, file, settings(at, candidates=4), ["tmas"])
    for name in ("p0", "p1"):
        attempts = [a for row in rows(folder) if row.problem == name for a in row.attempts]
        classes = {attempt.answer: attempt.answer_class for attempt in attempts}
        assert len(set(classes.values())) == len(classes)
        assert all(classes[attempt.answer] == attempt.answer_class for attempt in attempts)


async def test_the_spend_is_what_the_server_has_counted(at: ScriptedServer, file, folder):
    standing = await begun(folder, file, settings(at))
    spent = standing.purse.spent
    replies = [reply for request in at.requests for reply in request.replies]
    assert spent.calls == len(at.requests) == sum(row.spent.calls for row in rows(folder))
    assert spent.prompt_tokens == sum(count_tokens(request.text) for request in at.requests)
    assert spent.completion_tokens == sum(
        count_tokens(reply.text or "") + count_tokens(reply.thinking) for reply in replies
    )
    assert spent.tokens == sum(row.spent.tokens for row in rows(folder))


async def test_a_run_that_is_done_makes_no_call_when_it_goes_on(at: ScriptedServer, file, folder):
    first = await begun(folder, file, settings(at))
    before, text = len(at.requests), (folder / ROWS).read_text()
    again = await gone_on(folder, settings(at))
    assert len(at.requests) == before
    assert (folder / ROWS).read_text() == text
    assert again.purse.spent == first.purse.spent
    assert again.methods["tmas"].statuses == first.methods["tmas"].statuses


async def test_rows_that_were_lost_are_made_anew_without_a_call(at: ScriptedServer, file, folder):
    await begun(folder, file, settings(at))
    before, whole = len(at.requests), rows(folder)
    text = (folder / ROWS).read_text()
    (folder / ROWS).write_text(text[: len(text) // 2])
    await gone_on(folder, settings(at))
    assert rows(folder) == whole
    (folder / ROWS).unlink()
    await gone_on(folder, settings(at))
    assert rows(folder) == whole
    assert len(at.requests) == before


async def test_more_of_everything_gives_what_a_run_of_all_that_would(at, file, folder, tmp_path):
    given = settings(at)
    whole = tmp_path / "whole"
    await begun(folder, file, given, ["tmas"], limit=2)
    await gone_on(folder, given, limit=3)
    await gone_on(folder, given, labels=["self-consistency", "tmas"], ids=["p3"])
    await gone_on(folder, given, changes={"iterations": 3})
    made = len(at.requests)
    methods = ["tmas", "self-consistency"]
    await begun(whole, file, settings(at, iterations=3), methods)
    assert rows(folder) == rows(whole)
    assert made == len(at.requests) - made
    assert read_plan(folder).problems == read_plan(whole).problems


async def test_a_setting_of_a_method_itself_is_not_changed_for_all(at, file, folder):
    await begun(folder, file, settings(at), ["tmas", "tmas[iterations=1]"], limit=1)
    await gone_on(folder, settings(at), changes={"iterations": 3})
    iterations = {e.label: e.settings.iterations for e in read_plan(folder).entrants}
    assert iterations == {"tmas": 3, "tmas[iterations=1]": 1}


async def test_shards_make_the_rows_of_the_whole(at, file, folder, tmp_path):
    await begun(tmp_path / "whole", file, settings(at), ["tmas"])
    await begun(tmp_path / "one", file, settings(at), ["tmas"], shard="1/2")
    await begun(tmp_path / "two", file, settings(at), ["tmas"], shard="2/2")
    one, two = rows(tmp_path / "one"), rows(tmp_path / "two")
    assert {row.problem for row in one} & {row.problem for row in two} == set()
    assert sorted([*one, *two], key=lambda row: row.key) == rows(tmp_path / "whole")


async def test_one_failed_problem_is_a_row_and_is_tried_again(at, file, folder, tmp_path):
    def fail(request: Request) -> Failure | None:
        return Failure(status=400, message="no") if "What is 1 " in request.text else None

    at.change(fail=fail)
    standing = await begun(folder, file, settings(at), ["tmas"])
    failed = [row for row in rows(folder) if row.outcome == "failed"]
    assert [(row.problem, row.selected.status) for row in failed] == [("p1", "error")]
    assert "no" in failed[0].cause
    assert (standing.done, standing.failed) == (3, 1)
    before = len(at.requests)
    at.change(fail=None)
    standing = await gone_on(folder, settings(at))
    assert (standing.done, standing.failed) == (4, 0)
    assert all("What is 1 " in request.text for request in at.requests[before:])
    await begun(tmp_path / "whole", file, settings(at), ["tmas"])
    healed, whole = rows(folder), rows(tmp_path / "whole")
    assert [row.attempts for row in healed] == [row.attempts for row in whole]


async def test_an_endpoint_that_goes_away_ends_the_run_with_its_error(at, folder, tmp_path):
    file = problems_file(tmp_path, 14)
    given = settings(at, concurrency=2)
    at.change(fail=lambda request: 503 if len(at.requests) > 45 else None)
    with pytest.raises((CallError, AllCandidatesFailed)):
        await begun(folder, file, given, ["tmas"])
    failed = [row for row in rows(folder) if row.outcome == "failed"]
    assert MOST_FAILURES <= len(failed) < 14  # some may fail at the same time
    at.change(fail=None)
    standing = await gone_on(folder, given)
    assert standing.done == 14


async def test_rows_that_cannot_be_written_end_the_run_and_it_goes_on(at, file, folder, tmp_path):
    aside = tmp_path / "aside"

    def full(ended: object) -> None:
        (folder / ROWS).rename(aside)
        (folder / ROWS).mkdir()

    with pytest.raises(StorageError, match=r"rows\.jsonl can't be written"):
        await begun(folder, file, settings(at), ["tmas"], watch=Watch(ended=full))
    (folder / ROWS).rmdir()
    aside.rename(folder / ROWS)
    standing = await gone_on(folder, settings(at))
    assert standing.done == 4
    assert len(rows(folder)) == 8


async def test_an_endpoint_that_does_not_answer_leaves_no_folder(at, file, folder):
    given = settings(at)
    await at.stop()
    with pytest.raises(CallError):
        await begun(folder, file, given, ["tmas"])
    assert not folder.exists()


async def test_the_budget_of_the_run_ends_it_and_counts_all_sittings(at, file, folder, tmp_path):
    given = settings(at, concurrency=2)
    standing = await begun(folder, file, given, ["tmas"], limits={"max_calls": 30})
    assert standing.halted
    assert 30 <= len(at.requests) < 36
    assert standing.done < 4
    assert all(row.stop == "iterations" for row in rows(folder) if row.iteration == 1)
    before = len(at.requests)
    standing = await gone_on(folder, given)
    assert len(at.requests) == before, "the budget was spent already"
    standing = await gone_on(folder, given, limits=RunLimits(max_calls=1000))
    assert (standing.done, standing.halted) == (4, 0)
    await begun(tmp_path / "whole", file, given, ["tmas"])
    assert rows(folder) == rows(tmp_path / "whole")
    assert standing.purse.spent.calls * 2 == len(at.requests)


async def test_the_time_of_a_run_counts_the_calls_of_earlier_sittings(at, file, folder):
    given = settings(at)
    standing = await begun(folder, file, given, ["tmas"], limits={"max_seconds": 1e-6})
    assert (standing.done, len(at.requests)) == (0, 0)
    standing = await gone_on(folder, given, limits=RunLimits(max_seconds=1e6))
    assert standing.done == 4
    async with open_threads(folder) as store:
        before = await seconds_of_all(store.saver)
    assert 0 < before < standing.seconds + 1
    standing = await gone_on(folder, given)
    assert standing.purse.seconds >= before


async def test_a_problem_ends_at_its_own_budget(at, file, folder):
    standing = await begun(folder, file, settings(at, max_calls=6), ["tmas"])
    assert standing.done == 4
    assert {row.stop for row in rows(folder)} == {"budget"}


async def test_cancelled_it_goes_on_where_it_was(at, file, folder, tmp_path):
    ended = asyncio.Event()
    watch = Watch(ended=lambda rows: ended.set())
    given = settings(at, concurrency=2)
    running = asyncio.create_task(begun(folder, file, given, METHODS, watch=watch))
    await ended.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert 0 < len({(row.problem, row.method) for row in rows(folder)}) < 12
    await gone_on(folder, given)
    await begun(tmp_path / "whole", file, given)
    assert [r.attempts for r in rows(folder)] == [r.attempts for r in rows(tmp_path / "whole")]


async def test_no_more_calls_are_in_flight_than_allowed(folder, tmp_path):
    file = problems_file(tmp_path, 8)
    async with server(script=Reasoner().short(), role_of=role_of, latency=0.01) as slow:
        standing = await begun(folder, file, settings(slow, concurrency=4), ["tmas"])
        assert slow.max_in_flight <= 4
    assert standing.done == 8


async def test_what_would_not_fit_the_old_rows_is_refused_by_name(at, file, folder):
    await begun(folder, file, settings(at), ["tmas"], limit=1)
    with pytest.raises(ThreadChanged, match=r"tmas: epsilon \(0.2 → 0.5\).*--accept-changes"):
        await gone_on(folder, settings(at), changes={"epsilon": 0.5})
    before = len(at.requests)
    lines = file.read_text().replace("What is 0", "What is not 0")
    file.write_text(lines)
    with pytest.raises(ThreadChanged, match="aren't those that it began with"):
        await gone_on(folder, settings(at))
    assert len(at.requests) == before


async def test_two_processes_cannot_work_on_one_run(at, file, folder):
    with owned(folder), pytest.raises(ThreadBusy, match=r"run: process \d+ works on"):
        await begun(folder, file, settings(at))


async def test_a_folder_in_use_is_refused(at, file, folder):
    await begun(folder, file, settings(at), ["chain-of-thought"], limit=1)
    with pytest.raises(SettingsError, match=r"--out: there is a run in .* --resume"):
        await begun(folder, file, settings(at))
    other = folder / "other"
    async with open_threads(other):
        pass
    with pytest.raises(SettingsError, match="holds other threads"):
        await begun(other, file, settings(at))


async def test_the_folder_says_what_the_run_was_made_with(at, file, folder):
    given = settings(at, api_key="s3cret")
    await begun(folder, file, given, ["tmas", "chain-of-thought"], limit=2)
    plain = json.loads((folder / FILE).read_text())
    assert plain["problems"] == ["p0", "p1"]
    assert plain["methods"]["tmas"]["candidates"] == 2
    assert plain["models"]["tmas"]["solution"] == "scripted"
    assert len(plain["prompts"]["tmas"]) > len(plain["prompts"]["chain-of-thought"]) > 0
    assert {"python", "tmas-graph", "langgraph"} <= plain["versions"].keys()
    assert "s3cret" not in (folder / FILE).read_text()
    async with open_threads(folder) as store:
        record = await store.get(thread_name("tmas", "p1"))
        assert record.settings.memory_folder == str(folder.resolve() / "memory")
