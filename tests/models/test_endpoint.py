import asyncio
from typing import Any

import pytest
from clients import ASK, asking, client_at, client_of, outcome, say, until
from endpoints.faults import connection
from endpoints.protocol import Failure
from endpoints.scripted import server

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.models.connections import connections
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.limiter import Limiter
from tmas_graph.models.making import Ask
from tmas_graph.usage import Usage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_waits")]


async def test_the_request_holds_what_was_set() -> None:
    fields = {"temperature": 0.3, "top_p": 0.7, "max_tokens": 77, "extra_body": {"top_k": 20}}
    async with server() as scripted, client_of(scripted, api_key="s3cret", **fields) as model:
        await model.ask(ASK, Ask(n=3, seed=11, fields={"x": 1}))
    [request] = scripted.requests
    assert request.headers["authorization"] == "Bearer s3cret"
    assert request.body == {
        "model": "scripted",
        "messages": ASK.messages,
        "temperature": 0.3,
        "top_p": 0.7,
        "max_tokens": 77,
        "n": 3,
        "seed": 11,
        "top_k": 20,
        "x": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_what_is_not_set_is_not_sent() -> None:
    async with (
        server() as scripted,
        client_of(scripted, send_seed=False, stream=False) as model,
    ):
        await model.ask(ASK, Ask(seed=11))
    assert set(scripted.requests[0].body) == {"model", "messages", "temperature", "top_p"}


def test_openai_itself_is_asked_by_its_new_name() -> None:
    def name(url: str) -> str:
        return EndpointClient(Endpoint(), url, http=None, limiter=Limiter(1)).max_tokens_field  # type: ignore[arg-type]

    assert name("https://api.openai.com/v1") == "max_completion_tokens"
    assert name("http://127.0.0.1:8000/v1") == "max_tokens"


async def test_usage_of_a_request_is_counted_once() -> None:
    async with server(script=say, count_tokens=len) as scripted, client_of(scripted) as model:
        first, second = await model(ASK, n=2)
    thought = len(first.thinking + second.thinking)
    said = len(first.text + second.text)
    assert first.usage == Usage(1, len("What is 6·7?"), thought + said, thought)
    assert second.usage == Usage()


async def test_the_only_model_that_is_served_is_used() -> None:
    async with server(models=("one",)) as scripted, client_of(scripted) as model:
        assert await model.check() == "one"
        await model(ASK)
    assert scripted.requests[0].body["model"] == "one"


@pytest.mark.parametrize("by_call", [True, False])
async def test_with_several_models_one_must_be_set(by_call: bool) -> None:
    async with server(models=("one", "two")) as scripted, client_of(scripted) as model:
        with pytest.raises(
            RequestRefused, match=r"no model is set, and it serves one, two\. Give one with --model"
        ):
            await (model(ASK) if by_call else model.check())


@pytest.mark.parametrize("by_call", [True, False])
async def test_an_unknown_model_is_said_with_those_that_are_served(by_call: bool) -> None:
    async with (
        server(models=("qwen3-4b", "llama")) as scripted,
        client_of(scripted, model="qwen3-4B") as model,
    ):
        with pytest.raises(RequestRefused, match="did you mean 'qwen3-4b'") as caught:
            await (model(ASK) if by_call else model.check())
    assert "It serves: qwen3-4b, llama." in str(caught.value)
    assert caught.value.status == 404
    assert len(scripted.requests) == by_call


@pytest.mark.parametrize("by_call", [True, False])
async def test_a_wrong_key_is_refused_at_once(by_call: bool) -> None:
    async with server(key="right") as scripted, client_of(scripted, api_key="wr0ng") as model:
        with pytest.raises(RequestRefused, match=r"key is refused .*\. Set TMAS_API_KEY\.") as e:
            await (model(ASK) if by_call else model.check())
    assert "wr0ng" not in str(e.value)
    assert len(scripted.requests) <= 1


@pytest.mark.parametrize("key", ["with\nbreak", "ключ", "nul\0"])
async def test_a_key_that_cant_be_sent_is_said_without_it(key: str) -> None:
    async with connections("http://x/v1", 1) as http:
        with pytest.raises(RequestRefused, match="TMAS_API_KEY") as caught:
            EndpointClient(Endpoint(api_key=key), "http://x/v1", http=http, limiter=Limiter(1))  # type: ignore[arg-type]
    assert key not in str(caught.value)


@pytest.mark.parametrize("model_set", ["scripted", None])
async def test_a_wrong_path_says_how_a_base_url_ends(model_set: str | None) -> None:
    async with server() as scripted, client_at(scripted.url, model=model_set) as model:
        with pytest.raises(RequestRefused, match=r"heck base_url \(it ends in /v1\)"):
            await model(ASK)


async def test_an_endpoint_that_is_down_says_what_to_do() -> None:
    async with server() as scripted:
        pass  # its port is free again
    async with client_of(scripted) as model:
        for call in (model(ASK), model.check()):
            with pytest.raises(EndpointDown, match=r"Connection refused.*Start the server"):
                await call


async def test_calls_of_a_server_that_cant_be_asked_fail_each_on_its_own() -> None:
    listing = Failure(status=503)
    async with server(listing=listing) as scripted, client_of(scripted) as model:
        results = await asyncio.gather(*(outcome(model) for _ in range(3)))
        assert len({id(error) for _, error in results}) == 3
        assert all(isinstance(error, EndpointDown) for _, error in results)
        scripted.change(listing=None)
        assert (await model(ASK))[0].usage.calls == 1


@pytest.mark.parametrize("status", [404, 500])
async def test_who_cant_list_models_may_serve_them(status: int) -> None:
    async with (
        server(listing=Failure(status=status)) as scripted,
        client_of(scripted, model="scripted") as model,
    ):
        assert (await model(ASK))[0].finish_reason == "stop"


async def test_a_server_is_asked_about_itself_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def listed(behaviour: Any) -> Any:
        nonlocal asked
        asked += 1
        return models(behaviour)

    from endpoints import listing  # noqa: PLC0415

    models = listing.models
    monkeypatch.setattr(listing, "models", listed)
    async with (
        server(listing=Failure(status=500)) as scripted,
        client_of(scripted, model="scripted") as model,
    ):
        await asyncio.gather(*(model.ask(ASK, Ask(seed=i)) for i in range(5)))
        await model(ASK)
    assert asked == 1


async def test_a_server_that_comes_up_later_is_asked_then() -> None:
    scripted = server(script=say, max_model_len=777)
    async with scripted:
        pass
    async with client_of(scripted, model="scripted", attempts=1) as model:
        await outcome(model)
        async with scripted:
            await model(ASK)
        assert model.window.length == 777


async def test_no_more_requests_are_in_flight_than_allowed() -> None:
    async with (
        server(script=say, latency=0.1) as scripted,
        client_of(scripted, model="scripted", concurrency=3) as model,
    ):
        await asyncio.gather(*(model.ask(ASK, Ask(seed=i)) for i in range(12)))
    assert scripted.max_in_flight == 3
    assert len(scripted.requests) == 12


async def test_as_many_requests_are_in_flight_as_allowed() -> None:
    """A pool that caps at about 100 connections without a word is published-code defect 9."""
    async with (
        server(script=say, fault=lambda r: connection.hang()) as scripted,
        client_of(scripted, model="scripted", concurrency=150) as model,
    ):
        calls = [asyncio.create_task(model.ask(ASK, Ask(seed=i))) for i in range(160)]
        await until(lambda: scripted.in_flight == 150)
        assert model.limiter.waiting == 10
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await until(lambda: scripted.in_flight == 0)
    assert scripted.max_in_flight == 150


async def test_questions_find_a_connection_while_calls_hold_all_theirs() -> None:
    async with (
        server(script=say, max_model_len=1000, tokenize=True) as scripted,
        client_of(scripted, concurrency=1) as model,
    ):
        await model(ASK)
        scripted.change(fault=lambda r: connection.hang())
        first = asyncio.create_task(model(ASK))
        await until(lambda: scripted.in_flight)
        second = asyncio.create_task(model(asking("four" * 600)))
        await until(lambda: model.limiter.waiting)
        for call in (first, second):
            call.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
