import asyncio
import logging
from typing import Any

import aiohttp
import pytest
from clients import ASK, abandoned, asking, client_of, outcome, say
from endpoints.faults import bodies, catalogue, connection, streams
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.scripted import ScriptedServer, server

from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.models import transport
from tmas_graph.models.completion import Completion
from tmas_graph.models.faults import Fault

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_waits")]
WAYS = [True, False]
"""Streamed and not."""


@pytest.mark.parametrize("stream", WAYS)
@pytest.mark.parametrize("fault", catalogue.HARMLESS, ids=lambda fault: fault.name)
async def test_the_whole_answer_is_read_in_any_form(fault: Any, stream: bool) -> None:
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, stream=stream) as model,
    ):
        replies = await model(ASK, n=3)
    said = [(r.text, r.thinking.strip(), r.ending) for r in replies]
    wanted = [say(scripted.requests[0], i) for i in range(3)]
    assert said == [(w.text, w.thinking.strip(), "whole") for w in wanted]
    assert [r.streamed for r in scripted.requests] == [stream]


@pytest.mark.parametrize("fault", [streams.NEVER, streams.ALWAYS], ids=lambda fault: fault.name)
@pytest.mark.parametrize("stream", WAYS)
async def test_a_server_may_stream_or_not_as_it_likes(fault: Any, stream: bool) -> None:
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, stream=stream) as model,
    ):
        assert [r.ending for r in await model(ASK, n=2)] == ["whole", "whole"]


@pytest.mark.parametrize("size", [1, 5])
async def test_characters_may_be_cut_anywhere(size: int) -> None:
    fault = streams.split(size)
    async with (
        server(script=lambda r, c: "∫ü😀\\frac{1}{2}", fault=lambda r: fault) as scripted,
        client_of(scripted) as model,
    ):
        assert (await model(ASK))[0].text == "∫ü😀\\frac{1}{2}"


async def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    async with server(script=lambda r, c: "a\ud83d 😀") as scripted, client_of(scripted) as model:
        assert (await model(ASK))[0].text == "a? 😀"


@pytest.mark.parametrize("style", ["reasoning", "inline"])
@pytest.mark.parametrize("stream", WAYS)
async def test_thinking_without_a_text_is_no_text(style: Any, stream: bool) -> None:
    def cut(request: Request, choice: int) -> ScriptedReply:
        return ScriptedReply(text=None, thinking="it is \\boxed{42}", finish_reason="length")

    async with (
        server(script=cut, thinking=style) as scripted,
        client_of(scripted, stream=stream) as model,
    ):
        [reply] = await model(ASK)
    assert (reply.text, reply.thinking, reply.ending) == ("", "it is \\boxed{42}", "truncated")


async def test_thinking_that_was_never_closed_is_no_text() -> None:
    async with (
        server(script=lambda r, c: "<think>it is 42") as scripted,
        client_of(scripted) as model,
    ):
        [reply] = await model(ASK)
    assert (reply.text, reply.thinking, reply.ending) == ("", "it is 42", "empty")


@pytest.mark.parametrize("where", connection.PLACES)
@pytest.mark.parametrize("stream", WAYS)
async def test_a_server_that_hangs_holds_no_slot_beyond_the_deadline(
    where: Any, stream: bool
) -> None:
    fault = connection.hang(where)
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, model="scripted", timeout_seconds=0.2, stream=stream) as model,
    ):
        call, error = await outcome(model)
        assert isinstance(error, EndpointDown)
        assert "no reply came within 0.2 s. See what holds it up" in str(error)
        assert (model.limiter.in_flight, len(call.sendings)) == (0, 1)
        await abandoned(scripted)
    assert call.usage.estimated_tokens == call.usage.tokens > 0


async def test_a_stream_that_falls_silent_is_given_up_and_tried_again() -> None:
    fault = connection.hang("midway", chunks=3)
    async with (
        server(script=say, fault=lambda r: None if r.attempt else fault) as scripted,
        client_of(scripted, model="scripted", stall_seconds=0.1) as model,
    ):
        call, error = await outcome(model)
        assert error is None
        await abandoned(scripted)
    first, second = call.sendings
    assert first.outcome == "it fell silent for 0.1 s in the midst of a reply"
    assert first.usage.estimated_tokens == first.usage.tokens > 100
    assert second.outcome == "answered"


async def test_comments_of_a_proxy_are_no_sign_of_life() -> None:
    async def pinging() -> None:
        await asyncio.Event().wait()

    def answer(whole: Any) -> Any:
        pings: list[Any] = []
        for _ in range(200):
            pings += [lambda: asyncio.sleep(0.01), b": ping\n\n"]
        steps = (*whole.steps[:4], *pings, pinging)
        return type(whole)(steps=steps, content_type=whole.content_type, streamed=True)

    fault = connection.Fault(name="pings", answer=answer)
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, model="scripted", stall_seconds=0.2, attempts=1) as model,
    ):
        with pytest.raises(EndpointDown, match=r"silent for 0\.2 s"):
            await model(ASK)


@pytest.mark.parametrize("seconds", [None, 60.0])
async def test_a_timeout_of_the_connection_is_no_deadline_of_ours(
    seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(*_: Any) -> None:
        raise aiohttp.SocketTimeoutError("Timeout on reading data from socket")

    monkeypatch.setattr(transport, "_read_all", late)
    async with server(script=say) as scripted, client_of(scripted, model="scripted") as model:
        patience = transport.Patience(seconds, stall_seconds=9.0)
        asked = {"model": "scripted", "messages": [{"role": "user", "content": "?"}]}
        with pytest.raises(Fault, match=r"the connection broke .Timeout on reading"):
            await model.connection.complete(asked, patience, Completion())


async def test_before_the_first_piece_only_the_deadline_counts() -> None:
    async with (
        server(script=say, fault=lambda r: connection.late(0.3)) as scripted,
        client_of(scripted, stall_seconds=0.05) as model,
    ):
        assert (await model(ASK))[0].whole


@pytest.mark.parametrize("where", ["open", "dropped"])
async def test_after_its_closing_event_a_stream_needs_no_end(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_LAST_BYTES_SECONDS", 0.05)
    chunks = 6  # role, two pieces of thinking, one of text, end, usage
    end = connection.hang if where == "open" else connection.drop

    def short(request: Request, choice: int) -> ScriptedReply:
        return ScriptedReply(text="text", thinking="t" * 500)

    async with (
        server(script=short, fault=lambda r: end("midway", chunks=chunks + 1)) as scripted,
        client_of(scripted) as model,
    ):
        call, error = await outcome(model)
    assert error is None
    assert ([s.outcome for s in call.sendings], call.replies[0].text) == (["answered"], "text")
    assert call.usage.estimated_tokens == 0


async def test_a_connection_serves_many_calls() -> None:
    """A stream whose last bytes were left unread would cost a connection a call."""
    ports: set[str] = set()

    class Counting(ScriptedServer):
        async def _completions(self, http: Any) -> Any:
            ports.add(http.transport.get_extra_info("peername"))
            return await super()._completions(http)

    async with Counting(server(script=say).behaviour) as scripted, client_of(scripted) as model:
        for _ in range(5):
            await model(ASK)
    assert len(ports) == 1


async def test_a_prompt_of_megabytes_is_sent() -> None:
    async with (
        server(script=say, max_model_len=2**20, tokenize=True) as scripted,
        client_of(scripted) as model,
    ):
        await model(asking("x" * 3 * 2**20))
    assert len(scripted.requests[0].text) == 3 * 2**20


@pytest.mark.parametrize("fault", [bodies.HTML, bodies.MISLABELLED], ids=lambda fault: fault.name)
async def test_a_page_fails_at_once(fault: Any) -> None:
    async with server(fault=lambda r: fault) as scripted, client_of(scripted) as model:
        with pytest.raises(RequestRefused, match=r"not in OpenAI's form .a page, .*ends in /v1"):
            await model(ASK)
    assert len(scripted.requests) == 1


@pytest.mark.parametrize("fault", catalogue.PASSING, ids=lambda fault: fault.name)
@pytest.mark.parametrize("stream", WAYS)
async def test_half_an_answer_never_becomes_a_reply(fault: Any, stream: bool) -> None:
    async with (
        server(script=say, fault=lambda r: fault) as scripted,
        client_of(scripted, stream=stream, attempts=2) as model,
    ):
        call, error = await outcome(model, n=2)
        if not fault.fits(scripted.requests[0]):
            return
    assert isinstance(error, EndpointDown)
    assert (call.replies, len(scripted.requests)) == ((), 2)


async def test_a_key_is_in_no_log_and_no_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    said = Failure(status=500, message="key s3cret is odd")
    async with (
        server(fail=lambda r: said) as scripted,
        client_of(scripted, api_key="s3cret") as model,
    ):
        call, error = await outcome(model)
    assert "key … is odd" in str(error)
    assert "s3cret" not in f"{call} {error!r} {caplog.text}"
