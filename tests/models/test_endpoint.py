import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
import pytest
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.scripted import ScriptedServer, server

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import CallError, EndpointDown, RequestRefused
from tmas_graph.models import endpoint as module
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.prompts import Message
from tmas_graph.usage import Usage

pytestmark = pytest.mark.anyio
ASK: list[Message] = [{"role": "user", "content": "What is 6·7?"}]


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_backoff", lambda attempt: 0.0)


@asynccontextmanager
async def client(scripted: ScriptedServer, **fields: Any) -> AsyncIterator[EndpointClient]:
    given = EndpointClient(Endpoint(base_url=scripted.base_url, **fields), scripted.base_url)
    try:
        yield given
    finally:
        await given.aclose()


def say(request: Request, choice: int) -> ScriptedReply:
    return ScriptedReply(text=f"text {choice}", thinking=f"thought {choice}")


@pytest.mark.parametrize("style", ["reasoning", "reasoning_content", "inline", "inline_unopened"])
async def test_thinking_is_apart_from_the_text_in_every_style(style: Any) -> None:
    async with server(script=say, thinking=style) as scripted, client(scripted) as model:
        replies = await model(ASK, n=2)
    assert [(r.text, r.thinking) for r in replies] == [
        ("text 0", "thought 0"),
        ("text 1", "thought 1"),
    ]


@pytest.mark.parametrize("style", ["reasoning", "inline"])
async def test_thinking_without_a_text_is_no_text(style: Any) -> None:
    def cut(request: Request, choice: int) -> ScriptedReply:
        return ScriptedReply(text=None, thinking="it is \\boxed{42}", finish_reason="length")

    async with server(script=cut, thinking=style) as scripted, client(scripted) as model:
        [reply] = await model(ASK)
    assert (reply.text, reply.thinking, reply.whole) == ("", "it is \\boxed{42}", False)


async def test_thinking_that_was_never_closed_is_no_text() -> None:
    async with server(script=lambda r, c: "<think>it is 42") as scripted, client(scripted) as model:
        [reply] = await model(ASK)
    assert (reply.text, reply.thinking) == ("", "it is 42")


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_the_reason_to_finish_is_kept(reason: str) -> None:
    def script(request: Request, choice: int) -> ScriptedReply:
        return ScriptedReply(text="x", finish_reason=reason)

    async with server(script=script) as scripted, client(scripted) as model:
        [reply] = await model(ASK)
    assert reply.finish_reason == reason


async def test_usage_of_a_request_is_counted_once() -> None:
    async with server(script=say, count_tokens=len) as scripted, client(scripted) as model:
        first, second = await model(ASK, n=2)
    assert first.usage == Usage(1, len("What is 6·7?"), 2 * len("text 0thought 0"), 18)
    assert second.usage == Usage()


async def test_without_usage_the_call_still_counts() -> None:
    async with server(script=say, usage="none") as scripted, client(scripted) as model:
        [reply] = await model(ASK)
    assert reply.usage == Usage(calls=1)


async def test_the_request_holds_what_was_set() -> None:
    fields = {"temperature": 0.3, "top_p": 0.7, "max_tokens": 77, "extra_body": {"top_k": 20}}
    async with server() as scripted, client(scripted, api_key="s3cret", **fields) as model:
        await model(ASK, n=3, seed=11)
    [request] = scripted.requests
    assert fields["extra_body"] == {"top_k": 20}
    assert {k: request.body[k] for k in ("temperature", "top_p", "n", "seed", "top_k")} == {
        "temperature": 0.3,
        "top_p": 0.7,
        "n": 3,
        "seed": 11,
        "top_k": 20,
    }
    assert 77 in (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))
    assert request.headers["authorization"] == "Bearer s3cret"
    assert request.body["messages"] == ASK
    assert not request.body.get("stream")


async def test_what_is_not_set_is_not_sent() -> None:
    async with server() as scripted, client(scripted, send_seed=False) as model:
        await model(ASK, seed=11)
    [request] = scripted.requests
    assert not {"n", "seed", "max_tokens", "max_completion_tokens", "stop"} & set(request.body)


async def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    async with (
        server(script=lambda r, c: "a\ud83d \\frac{1}{2} 😀") as scripted,
        client(scripted) as model,
    ):
        [reply] = await model(ASK)
    assert reply.text == "a? \\frac{1}{2} 😀"


async def test_the_only_model_that_is_served_is_used() -> None:
    async with server(models=("one",)) as scripted, client(scripted) as model:
        assert await model.check() == "one"
        await model(ASK)
    assert scripted.requests[0].body["model"] == "one"


@pytest.mark.parametrize("by_call", [True, False])
async def test_with_several_models_one_must_be_set(by_call: bool) -> None:
    async with server(models=("one", "two")) as scripted, client(scripted) as model:
        with pytest.raises(
            RequestRefused, match=r"no model is set, and it serves one, two\. Give one with --model"
        ):
            await (model(ASK) if by_call else model.check())


@pytest.mark.parametrize("by_call", [True, False])
async def test_an_unknown_model_is_said_with_those_that_are_served(by_call: bool) -> None:
    async with (
        server(models=("qwen3-4b", "llama")) as scripted,
        client(scripted, model="qwen3-4B") as model,
    ):
        with pytest.raises(RequestRefused, match="did you mean 'qwen3-4b'") as caught:
            await (model(ASK) if by_call else model.check())
    assert "It serves: qwen3-4b, llama." in str(caught.value)
    assert caught.value.status == 404
    assert len(scripted.requests) == by_call


@pytest.mark.parametrize("by_call", [True, False])
async def test_a_wrong_key_is_refused_at_once(by_call: bool) -> None:
    async with server(key="right") as scripted, client(scripted, api_key="wr0ng") as model:
        with pytest.raises(RequestRefused, match=r"key is refused \(HTTP 401\)\. Set TMAS") as e:
            await (model(ASK) if by_call else model.check())
    assert "wr0ng" not in str(e.value)
    assert len(scripted.requests) <= 1


@pytest.mark.parametrize("model_set", ["scripted", None])
async def test_a_wrong_path_says_how_a_base_url_ends(model_set: str | None) -> None:
    async with server() as scripted:
        model = EndpointClient(Endpoint(base_url=scripted.url, model=model_set), scripted.url)
        with pytest.raises(RequestRefused, match=r"heck base_url \(it ends in /v1\)"):
            await model(ASK)
        await model.aclose()


async def test_an_endpoint_that_is_down_says_what_to_do() -> None:
    async with server() as scripted:
        pass  # its port is free again
    async with client(scripted, model="m", attempts=2) as model:
        for call in (model(ASK), model.check()):
            with pytest.raises(EndpointDown) as caught:
                await call
            assert str(caught.value) == (
                f"{scripted.base_url}: it can't be reached (Connection refused). "
                "Start the server, or set base_url."
            )


async def test_an_endpoint_that_is_too_slow_says_so() -> None:
    async with (
        server(latency=5) as scripted,
        client(scripted, model="scripted", attempts=2, timeout_seconds=0.1) as model,
    ):
        with pytest.raises(EndpointDown, match=r"it did not answer in time\. Start"):
            await model(ASK)
    assert len(scripted.requests) == 2


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_what_may_pass_is_tried_again(status: int) -> None:
    async with (
        server(script=say, fail=lambda r: status if r.attempt < 2 else None) as scripted,
        client(scripted, model="scripted") as model,
    ):
        [reply] = await model(ASK, seed=1)
    assert reply.text == "text 0"
    assert [r.status for r in scripted.requests] == [status, status, 200]


async def test_after_the_last_attempt_it_is_down() -> None:
    async with (
        server(fail=lambda r: 503) as scripted,
        client(scripted, model="scripted", attempts=3) as model,
    ):
        with pytest.raises(EndpointDown, match=r"HTTP 503 \(scripted failure\)"):
            await model(ASK)
    assert len(scripted.requests) == 3


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_request_that_is_refused_is_not_repeated(status: int) -> None:
    failure = Failure(status=status, message="context length is 3 tokens")
    async with (
        server(fail=lambda r: failure) as scripted,
        client(scripted, model="scripted") as model,
    ):
        with pytest.raises(RequestRefused, match="context length is 3 tokens") as caught:
            await model(ASK)
    assert caught.value.status == status
    assert len(scripted.requests) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("2.5", 2.5), ("99999", 60.0), ("-3", 0.0), ("nan", 0.0), ("soon", None)],
)
async def test_the_wait_that_a_server_asks_for_is_kept(header: str, seconds: float | None) -> None:
    request = httpx2.Request("POST", "http://x")
    response = httpx2.Response(429, headers={"Retry-After": header}, request=request)
    error = openai.RateLimitError("busy", response=response, body=None)
    model = EndpointClient(Endpoint(), "http://x")
    _, wait = await model._judge(error, 1)
    await model.aclose()
    assert wait == (0.0 if seconds is None else seconds)


BODIES = ["<html>", "", '"text"', "[]", "{}", '{"error": {"message": "no"}}', '{"choices": []}']
BODIES += ['{"choices": null}', '{"choices": [{"index": 0}]}']


@pytest.mark.parametrize("body", BODIES)
async def test_a_reply_in_another_form_is_refused(body: str) -> None:
    async with (
        server(fail=lambda r: Failure(status=200, body=body)) as scripted,
        client(scripted, model="scripted") as model,
    ):
        with pytest.raises(RequestRefused, match="not in OpenAI's form"):
            await model(ASK)
    assert len(scripted.requests) == 1


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    async with (
        server(script=say, latency=0.1) as scripted,
        client(scripted, model="scripted", concurrency=3) as model,
    ):
        await asyncio.gather(*(model(ASK, seed=i) for i in range(12)))
    assert scripted.max_in_flight == 3
    assert len(scripted.requests) == 12


async def test_as_many_requests_are_in_flight_as_allowed() -> None:
    """A pool that caps at about 100 connections without a word is published-code defect 9."""
    all_there = asyncio.Event()

    def latency(request: Request) -> float:
        if request.index == 149:
            all_there.set()
        return 60.0

    async with (
        server(script=say, latency=latency) as scripted,
        client(scripted, model="scripted", concurrency=150) as model,
    ):
        calls = [asyncio.create_task(model(ASK, seed=i)) for i in range(160)]
        await asyncio.wait_for(all_there.wait(), 30)
        assert scripted.max_in_flight == 150
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


def errors_of_openai() -> list[type[openai.OpenAIError]]:
    found, left = [], [openai.OpenAIError]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        found.append(kind)
    return sorted(set(found), key=lambda kind: kind.__name__)


def instance(kind: type[openai.OpenAIError]) -> openai.OpenAIError:
    """An error of this kind, whatever its constructor takes."""
    error = kind.__new__(kind)
    Exception.__init__(error, "first line\nsecond line")
    request = httpx2.Request("POST", "http://x/v1")
    error.__dict__.update(
        status_code=getattr(kind, "status_code", 418),
        response=httpx2.Response(418, request=request),
        request=request,
        body=None,
    )
    return error


@pytest.mark.parametrize("kind", errors_of_openai(), ids=lambda kind: kind.__name__)
async def test_every_error_of_openai_becomes_one_of_ours(kind: type[openai.OpenAIError]) -> None:
    model = EndpointClient(Endpoint(model=None), "http://x/v1")
    failure, wait = await model._judge(instance(kind), 1)
    await model.aclose()
    assert type(failure) in (EndpointDown, RequestRefused)
    assert isinstance(failure, CallError)
    assert (wait is None) == isinstance(failure, RequestRefused)
    assert "\n" not in str(failure)
    assert str(failure).startswith("http://x/v1: ")
    assert str(failure).endswith(".")


def test_the_waits_grow_and_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    waits = [module._backoff(attempt) for attempt in range(1, 12)]
    assert all(0 < wait <= 60 for wait in waits)
    assert waits[0] <= 1.0 < waits[6]
