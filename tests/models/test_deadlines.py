import asyncio
from typing import Any

import pytest
from clients import ASK, abandoned, client_of, outcome, say, until
from endpoints.faults import connection
from endpoints.scripted import server

from tmas_graph.errors import EndpointDown
from tmas_graph.models.calls import Call
from tmas_graph.models.completion import Completion
from tmas_graph.models.making import Ask

pytestmark = pytest.mark.anyio
no_waits = pytest.mark.usefixtures("no_waits")


@no_waits
async def test_the_deadline_is_over_all_requests() -> None:
    async with (
        server(latency=0.15, fail=lambda r: 500) as scripted,
        client_of(scripted, timeout_seconds=0.4, attempts=100) as model,
    ):
        call, error = await outcome(model)
    assert isinstance(error, EndpointDown)
    assert 2 <= len(scripted.requests) <= 4
    assert call.usage.calls == len(scripted.requests)


async def test_the_deadline_begins_after_the_queue() -> None:
    async with (
        server(script=say, latency=0.2) as scripted,
        client_of(scripted, timeout_seconds=0.5, concurrency=1, model="scripted") as model,
    ):
        calls = await asyncio.gather(*(model.ask(ASK, Ask(seed=i)) for i in range(5)))
    assert max(call.sendings[0].queued for call in calls) > 0.6
    assert all(call.replies for call in calls)


async def test_seconds_of_a_budget_count_the_queue_too() -> None:
    async with (
        server(fault=lambda r: connection.hang()) as scripted,
        client_of(scripted, concurrency=1, model="scripted") as model,
    ):
        first = asyncio.create_task(model(ASK))
        await until(lambda: scripted.requests)
        call, error = await outcome(model, seconds=0.1)
        assert isinstance(error, EndpointDown)
        assert (call.sendings, model.limiter.waiting) == ((), 0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_a_call_without_time_sends_nothing() -> None:
    async with server(script=say) as scripted, client_of(scripted) as model:
        call, error = await outcome(model, seconds=0.0)
    assert isinstance(error, EndpointDown)
    assert (call.usage.calls, scripted.requests) == (0, [])


@pytest.mark.parametrize(("where", "pieces"), [("before_headers", 0), ("midway", 3)])
async def test_a_cancelled_call_is_noted_and_charged_by_estimate(
    where: Any, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Any] = []
    take = Completion.take
    monkeypatch.setattr(Completion, "take", lambda c, body: (taken.append(body), take(c, body)))
    fault = connection.hang(where, chunks=3)
    noted: list[Call] = []
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, model="scripted") as model,
    ):
        task = asyncio.create_task(model.ask(ASK, Ask(), noted.append))
        await until(lambda: scripted.requests and len(taken) == pieces)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await abandoned(scripted)
    [call] = noted
    assert (call.sendings[0].outcome, call.cause) == ("given up", "given up (CancelledError)")
    assert (call.usage.calls, model.limiter.in_flight) == (1, 0)
    assert call.usage.estimated_tokens == call.usage.tokens
    assert (call.usage.completion_tokens > 100) == (where == "midway")


async def test_a_call_that_is_cancelled_in_the_queue_costs_nothing() -> None:
    noted: list[Call] = []
    async with (
        server(fault=lambda r: connection.hang()) as scripted,
        client_of(scripted, concurrency=1, model="scripted") as model,
    ):
        tasks = [asyncio.create_task(model.ask(ASK, Ask(), noted.append)) for _ in range(2)]
        await until(lambda: scripted.requests and model.limiter.waiting)
        tasks[1].cancel()
        await asyncio.wait([tasks[1]])
        assert noted == []
        tasks[0].cancel()
        await asyncio.wait(tasks)
    assert (len(noted), model.limiter.waiting) == (1, 0)
