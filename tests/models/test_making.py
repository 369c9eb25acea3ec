import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from clients import ASK, asking, at_first, client_at, client_of, outcome, say, until
from endpoints.fault import Fault
from endpoints.faults import catalogue, errors
from endpoints.protocol import Failure
from endpoints.scripted import server

from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.models import retrying
from tmas_graph.models.limiter import Slot
from tmas_graph.models.making import Ask

pytestmark = pytest.mark.anyio
no_waits = pytest.mark.usefixtures("no_waits")


@no_waits
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
async def test_every_request_is_charged_once(stream: bool, n: int) -> None:
    async with (
        server(script=say) as scripted,
        client_of(scripted, stream=stream, attempts=2) as model,
    ):
        for fault, times in product(catalogue.QUICK, [1, 2]):
            scripted.requests.clear()
            scripted.change(fault=at_first(fault, times))
            call, error = await outcome(model, asking(f"{fault.name} {times}"), n=n)
            sent, paid = len(scripted.requests), error or call.replies[0]
            assert sent == len(call.sendings) == call.usage.calls <= 2, fault.name
            assert call.usage == getattr(paid, "usage", None), fault.name
            assert (error is None) == bool(call.replies) == (call.cause == ""), fault.name
            assert model.limiter.in_flight == 0, fault.name


@no_waits
@pytest.mark.parametrize("fault", catalogue.PASSING, ids=lambda fault: fault.name)
async def test_what_may_pass_is_tried_again(fault: Any) -> None:
    stream = fault.streamed is not False
    async with (
        server(script=say, fault=at_first(fault)) as scripted,
        client_of(scripted, stream=stream) as model,
    ):
        call, error = await outcome(model)
    assert error is None
    assert [s.outcome == "answered" for s in call.sendings] == [False, True]


async def test_of_several_replies_those_that_came_whole_are_kept() -> None:
    endings = iter(["stop", "abort", "stop"])
    fault = Fault(name="one", reply=lambda reply: replace(reply, finish_reason=next(endings)))
    async with server(script=say, fault=lambda r: fault) as scripted, client_of(scripted) as model:
        call, error = await outcome(model, n=3)
    assert error is None
    assert [reply.whole for reply in call.replies] == [True, True]
    assert len(call.sendings) == 1


@no_waits
@pytest.mark.parametrize("fault", catalogue.REFUSING, ids=lambda fault: fault.name)
async def test_what_is_refused_fails_at_once(fault: Any) -> None:
    stream = fault.streamed is not False
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, stream=stream) as model,
    ):
        _, error = await outcome(model)
    assert isinstance(error, RequestRefused)
    assert len(scripted.requests) == 1


@no_waits
@pytest.mark.parametrize("body", ["{}", "[]", "null", '"text"', '{"choices": []}'])
async def test_what_is_no_completion_is_refused_after_all_attempts(body: str) -> None:
    failure = Failure(status=200, body=body)
    async with server(fail=lambda r: failure) as scripted, client_of(scripted, attempts=3) as model:
        with pytest.raises(RequestRefused, match=r"not in OpenAI's form .*\(it ends in /v1\)\."):
            await model(ASK)
    assert len(scripted.requests) == 3


@no_waits
async def test_after_the_last_attempt_the_endpoint_is_down() -> None:
    async with server(fail=lambda r: 503) as scripted, client_of(scripted, attempts=3) as model:
        with pytest.raises(EndpointDown, match=r"HTTP 503 \(scripted failure\)\. It is busy"):
            await model(ASK)
    assert len(scripted.requests) == 3


@no_waits
async def test_a_request_that_is_repeated_stays_the_same() -> None:
    async with (
        server(script=say, fail=lambda r: None if r.attempt > 1 else 500) as scripted,
        client_of(scripted) as model,
    ):
        await model.ask(ASK, Ask(n=2, seed=7))
    assert len({request.digest for request in scripted.requests}) == 1


async def test_a_retry_waits_without_its_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "backoff", lambda attempt: 1000.0)
    async with (
        server(script=say, fail=lambda r: 500 if "first" in r.text else None) as scripted,
        client_of(scripted, concurrency=1) as model,
    ):
        first = asyncio.create_task(model(asking("first")))
        await until(lambda: scripted.requests and not model.limiter.in_flight)
        assert (await model(asking("second")))[0].whole
        assert not first.done()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


@pytest.mark.parametrize("header", ["retry-after", "retry-after-ms"])
async def test_while_a_server_asks_to_wait_nobody_sends(header: str) -> None:
    headers = {header: "0.3" if header == "retry-after" else "300"}
    async with (
        server(
            script=say, fail=lambda r: None if r.index else Failure(status=429, headers=headers)
        ) as scripted,
        client_of(scripted, model="scripted") as model,
    ):
        first = asyncio.create_task(model(asking("first")))
        await until(lambda: model.limiter.paused_for)
        await asyncio.gather(first, model(asking("second")))
    refused, *others = scripted.requests
    assert refused.time_answered
    assert all(r.time_received - refused.time_answered > 0.28 for r in others)
    assert len(others) == 2


async def test_a_pause_past_the_deadline_fails_at_once_and_holds_up_nobody() -> None:
    fault = errors.http(429, retry_after=9999)
    async with (
        server(script=say, fault=lambda r: None if r.index else fault) as scripted,
        client_of(scripted, timeout_seconds=60) as model,
    ):
        with pytest.raises(EndpointDown, match=r"it asks to wait 1e\+04 s, and 60 s are left"):
            await model(ASK)
        assert (await model(ASK))[0].whole


@no_waits
async def test_the_record_of_a_call_tells_how_it_was_made() -> None:
    async with (
        server(script=say, fail=lambda r: None if r.attempt else 500, models=("m",)) as scripted,
        client_of(scripted, temperature=0.3, max_tokens=77, extra_body={"top_k": 5}) as model,
    ):
        began = time.time()
        call = await model.ask(ASK, Ask(n=2, seed=9, purpose="more", fields={"x": 1}))
    assert (call.model, call.served, call.n, call.seed, call.purpose) == ("m", "m", 2, 9, "more")
    assert call.sampling == {
        "temperature": 0.3,
        "top_p": 0.95,
        "max_tokens": 77,
        "top_k": 5,
        "x": 1,
    }
    assert call.messages == tuple(ASK.messages)
    assert [(s.outcome, s.status) for s in call.sendings] == [
        ("HTTP 500 (scripted failure)", 500),
        ("answered", None),
    ]
    assert all(s.began >= began - 0.01 and s.queued >= 0 and s.seconds > 0 for s in call.sendings)
    assert call.replies[0].usage == call.usage
    assert call.replies[1].usage.calls == 0


async def test_a_limit_on_tokens_reckons_with_about_what_is_spent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[int, int]] = []
    spent = Slot.spent

    def note(slot: Slot, tokens: int) -> None:
        seen.append((slot.tokens, tokens))
        spent(slot, tokens)

    monkeypatch.setattr(Slot, "spent", note)
    async with (
        server(script=say) as scripted,
        client_of(scripted, tokens_per_minute=10**9, max_tokens=100_000) as model,
    ):
        for seed in range(30):
            await model.ask(asking("word " * 400), Ask(n=2, seed=seed))
    first, last = seen[0], seen[-1]
    assert first[0] < 10_000, "not the 200 000 tokens that it may take at most"
    assert last[1] == 500 + 2 * 306
    assert 0.5 < last[0] / last[1] < 2


async def test_a_connection_that_is_refused_is_unreachable(no_waits: None) -> None:
    async with server() as scripted:
        pass  # its port is free again
    async with client_at(scripted.base_url, model="m", attempts=2) as model:
        call, error = await outcome(model)
    assert str(error) == (
        f"{scripted.base_url}: it can't be reached (Connection refused). "
        "Start the server, or set base_url."
    )
    assert len(call.sendings) == 2
    assert call.usage.tokens == 0


@asynccontextmanager
async def talking(answer: bytes) -> AsyncIterator[str]:
    """The base URL of a server that sends `answer` to whatever it is asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(answer)
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listener:
        yield f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"


@pytest.mark.parametrize("answer", [b"SSH-2.0-x\r\n", b"", b"HTTP/1.1 200 OK\r\nx" * 9, b"\0" * 99])
async def test_what_speaks_no_http_is_an_error_of_ours(answer: bytes, no_waits: None) -> None:
    async with talking(answer) as url, client_at(url, model="m", attempts=2) as model:
        with pytest.raises(EndpointDown, match="the connection broke"):
            await model(ASK)
