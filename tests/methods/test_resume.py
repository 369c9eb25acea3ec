"""A method's run that was broken off, or that may do more, goes on and repeats no finished call."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import pytest
from endpoints.protocol import Request
from endpoints.scripted import ScriptedServer
from langgraph.checkpoint.memory import InMemorySaver
from rival import QUESTION, endpoint, settings

from tmas_graph import Problem, Result, asolve
from tmas_graph.errors import AllCandidatesFailed
from tmas_graph.methods import METHODS as TABLE
from tmas_graph.methods import find
from tmas_graph.running import follow
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
CONFIG = {"configurable": {"thread_id": "1"}}
FEW = ("chain-of-thought", "self-consistency", "pacore")
"""So few calls that nothing is left after five."""
METHODS = [name for name, one in TABLE.items() if not one.is_tmas and name not in FEW]
METHODS.append("pacore[methods.pacore.rounds=[4, 2]]")


def same(one, other) -> bool:
    """Whether two results are equal but for what was spent on what was broken off."""
    nothing = {"usage": Usage(), "spend": ()}
    return replace(one, **nothing) == replace(other, **nothing)


@asynccontextmanager
async def broken_off(at: ScriptedServer, work: Awaitable[Any]) -> AsyncIterator[set[str]]:
    """Do `work` until its sixth request has arrived; gives the digests of those answered."""
    arrived = asyncio.Event()

    def latency(request: Request) -> float:
        if request.index < 5:
            return 0.0
        arrived.set()
        return 30.0

    at.requests.clear()
    at.change(latency=latency)
    task = asyncio.ensure_future(work)
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    at.change(latency=0.0)
    broken = len(at.requests)
    answered = {r.digest for r in at.requests if r.status == 200}
    assert len(answered) == 5
    yield answered
    again = {r.digest for r in at.requests[broken:]}
    assert again
    assert not again & answered


@pytest.mark.parametrize("method", METHODS)
async def test_broken_off_in_memory_it_goes_on_from_its_last_call(method):
    async with endpoint() as at:
        given = find(method).applied(settings(at, concurrency=1))
        whole = await asolve(QUESTION, given, method=method)
        expected = {r.digest for r in at.requests}
        workflow = find(method).build(InMemorySaver())
        work = follow(workflow, {"problem": QUESTION}, CONFIG, given)
        async with broken_off(at, work):
            result = await follow(workflow, None, CONFIG, given)
        assert {r.digest for r in at.requests} == expected
    assert same(result, whole)


@pytest.mark.parametrize("method", METHODS)
async def test_broken_off_in_a_thread_it_goes_on_from_its_last_call(method, tmp_path):
    async with endpoint() as at:
        given = find(method).applied(settings(at, concurrency=1))
        whole = await asolve(QUESTION, given, method=method)
        async with open_threads(tmp_path) as store:
            record = await store.create(Problem(QUESTION), given, {}, method)

        async def sitting() -> Result:
            async with open_threads(tmp_path) as store:
                return await store.run(await store.get(record.id))

        async with broken_off(at, sitting()):
            result = await sitting()
        async with open_threads(tmp_path) as store:
            assert (await store.get(record.id)).method == method
            assert (await store.values(record.id))["result"] == replace(result, usage=ANY)
    assert same(result, whole)


@pytest.mark.parametrize("method", METHODS)
async def test_stopped_by_its_budget_it_goes_on_with_more(method, tmp_path):
    async with endpoint() as at:
        given = find(method).applied(settings(at))
        whole = await asolve(QUESTION, given, method=method)
        at.requests.clear()
        async with open_threads(tmp_path) as store:
            little = given.model_copy(update={"max_calls": 3})
            record = await store.create(Problem(QUESTION), little, {}, method)
            first = await store.run(record)
            assert first.stop == "budget"
            events = []
            again = await store.run(record, on_event=events.append)
            assert again.stop == "budget"
            assert events[-1] == {"event": "already", "stop": "budget"}
            result = await store.run(replace(record, settings=given))
        digests = [r.digest for r in at.requests]
    assert len(digests) == len(set(digests))
    assert same(result, whole)
    assert result.usage == whole.usage


@pytest.mark.parametrize("method", ["best-of-n", "verify-refine"])
async def test_finished_calls_are_found_though_nothing_else_was_stored(method, tmp_path):
    async with endpoint() as at:
        given = settings(at, concurrency=1)
        whole = await asolve(QUESTION, given, method=method)
        async with open_threads(tmp_path) as store:
            record = await store.create(Problem(QUESTION), given, {}, method)

        async def sitting() -> Result:
            async with open_threads(tmp_path) as store:
                return await store.run(await store.get(record.id))

        async with broken_off(at, sitting()):
            with sqlite3.connect(tmp_path / "tmas.sqlite") as database:  # as a kill can leave it
                database.execute("DELETE FROM writes")
            database.close()
            result = await sitting()
    assert same(result, whole)


async def test_a_finished_run_is_done_already(tmp_path):
    async with endpoint() as at, open_threads(tmp_path) as store:
        record = await store.create(Problem(QUESTION), settings(at), {}, "best-of-n")
        first, events = await store.run(record), []
        asked = len(at.requests)
        again = await store.run(record, on_event=events.append)
        assert len(at.requests) == asked
    assert again == first
    assert events[-1] == {"event": "already", "stop": "iterations"}


async def test_when_all_failed_it_tries_again_and_repeats_no_finished_call():
    async with endpoint(fail=lambda r: 503 if r.agent == "verification" else None) as at:
        given = settings(at)
        workflow = find("best-of-n").build(InMemorySaver())
        with pytest.raises(AllCandidatesFailed, match="4 of 4 failed"):
            await follow(workflow, {"problem": QUESTION}, CONFIG, given)
        with pytest.raises(AllCandidatesFailed):
            await follow(workflow, None, CONFIG, given)
        at.change(fail=None)
        before = len(at.requests)
        result = await follow(workflow, None, CONFIG, given)
        assert [r.agent for r in at.requests[before:]] == ["verification"] * 4
    assert {a.outcome for a in result.attempts} == {"finished"}


async def test_the_settings_in_its_brackets_are_those_of_its_thread(tmp_path):
    async with endpoint() as at, open_threads(tmp_path) as store:
        name = "best-of-n[candidates=2, verifications=1]"
        record = await store.create(Problem(QUESTION), settings(at), {}, name)
        assert (record.settings.candidates, record.settings.verifications) == (2, 1)
        await store.run(await store.get(record.id))
        assert len(at.requests) == 4
