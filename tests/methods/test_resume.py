"""A method's run that was broken off, or that may do more, goes on and repeats no finished call."""

import asyncio
from dataclasses import replace

import pytest
from endpoints.protocol import Request
from langgraph.checkpoint.memory import InMemorySaver
from rival import QUESTION, endpoint, settings

from tmas_graph import Problem, asolve
from tmas_graph.errors import AllCandidatesFailed, SettingsError
from tmas_graph.methods import find
from tmas_graph.running import follow
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
CONFIG = {"configurable": {"thread_id": "1"}}
METHODS = ("best-of-n",)


def same(one, other) -> bool:
    """Whether two results are equal but for what was spent on what was broken off."""
    nothing = {"usage": Usage(), "spend": ()}
    return replace(one, **nothing) == replace(other, **nothing)


@pytest.mark.parametrize("method", METHODS)
async def test_broken_off_in_memory_it_goes_on_from_its_last_call(method):
    async with endpoint() as at:
        given = settings(at)
        whole = await asolve(QUESTION, given, method=method)
        expected = sorted(r.digest for r in at.requests)
        at.requests.clear()
        arrived = asyncio.Semaphore(0)

        def latency(request: Request) -> float:
            if request.agent != "verification":
                return 0.0
            arrived.release()
            return 30.0

        at.change(latency=latency)
        workflow = find(method).build(InMemorySaver())
        task = asyncio.create_task(follow(workflow, {"problem": QUESTION}, CONFIG, given))
        for _ in range(4):
            await arrived.acquire()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        at.change(latency=0.0)
        broken = len(at.requests)
        result = await follow(workflow, None, CONFIG, given)
        again = [r.digest for r in at.requests[broken:]]
        answered = [r.digest for r in at.requests[:broken] if r.status == 200]
    assert not set(again) & set(answered)
    assert sorted(set(answered) | set(again)) == expected
    assert same(result, whole)


@pytest.mark.parametrize("method", METHODS)
async def test_broken_off_in_a_thread_it_goes_on_from_its_last_call(method, tmp_path):
    async with endpoint() as at:
        given = settings(at)
        whole = await asolve(QUESTION, given, method=method)
        at.requests.clear()
        arrived = asyncio.Semaphore(0)

        def latency(request: Request) -> float:
            if request.agent != "verification" or request.index < 6:
                return 0.0
            arrived.release()
            return 30.0

        at.change(latency=latency)
        async with open_threads(tmp_path) as store:
            record = await store.create(Problem(QUESTION), given, {}, method)
            task = asyncio.create_task(store.run(record))
            await arrived.acquire()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        at.change(latency=0.0)
        broken = len(at.requests)
        async with open_threads(tmp_path) as store:
            record = await store.get(record.id)
            assert record.method == method
            result = await store.run(record)
            assert (await store.values(record.id))["result"].answer == result.answer
        again = {r.digest for r in at.requests[broken:]}
        answered = {r.digest for r in at.requests[:broken] if r.status == 200}
    assert again
    assert not again & answered
    assert same(result, whole)


@pytest.mark.parametrize("method", METHODS)
async def test_stopped_by_its_budget_it_goes_on_with_more(method, tmp_path):
    async with endpoint() as at:
        given = settings(at)
        whole = await asolve(QUESTION, given, method=method)
        at.requests.clear()
        async with open_threads(tmp_path) as store:
            little = settings(at, max_calls=3)
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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("best-of-m", "did you mean 'best-of-n'"),
        ("tmas[epsilom=1]", "method: there is no 'epsilom' .did you mean 'epsilon'"),
        ("tmas[epsilon=2]", "method: epsilon: it should be less than or equal to 1"),
        ("tmas[epsilon]", "method: 'epsilon' has no value"),
        ("tmas[epsilon=1", "lacks its last bracket"),
        ("tmas[]", "method: '' has no value"),
        ("", "method: there is no ''"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_right(name, said):
    with pytest.raises(SettingsError, match=said):
        find(name)


def test_brackets_take_nested_settings_and_lists_with_commas():
    changes = find("tmas[epsilon=0.5, extra_body={top_k = 20, min_p = 0}, roles.summary.top_p=1]")
    assert changes.changes == {
        "epsilon": 0.5,
        "extra_body": {"top_k": 20, "min_p": 0},
        "roles.summary.top_p": 1,
    }
