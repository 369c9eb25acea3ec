import asyncio
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest

from endpoints import scripted
from endpoints.journal import read_log
from endpoints.process import ServerProcess
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.scripted import ScriptedServer, server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def client_of(base_url: str, key: str = "none") -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0) as client:
        yield client


async def ask(client: openai.AsyncOpenAI, question: str = "What is 6 × 7?", **more: Any) -> Any:
    messages: Any = [{"role": "user", "content": question}]
    return await client.chat.completions.create(**{"model": "scripted", **more}, messages=messages)


def texts(completion: Any) -> list[str]:
    return [choice.message.content for choice in completion.choices]


def counting(request: Request, choice: int) -> str:
    return f"reply {choice}"


def post(base_url: str, question: str, **more: Any) -> dict[str, Any]:
    body = {"model": "scripted", "messages": [{"role": "user", "content": question}], **more}
    http = urllib.request.Request(
        f"{base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(http, timeout=30) as response:
        return dict(json.load(response))


@pytest.mark.parametrize(
    ("choices", "given"), [("honoured", 4), ("ignored", 1), ("short", 3), ("refused", None)]
)
async def test_n_is_taken_in_each_way(choices: str, given: int | None) -> None:
    async with server(choices=choices, script=counting) as it, client_of(it.base_url) as client:
        if given is None:
            with pytest.raises(openai.BadRequestError):
                await ask(client, n=4)
        else:
            assert texts(await ask(client, n=4)) == [f"reply {i}" for i in range(given)]
        assert len((await ask(client)).choices) == 1
        assert [r.n for r in it.requests] == [4, 1]


async def test_a_streamed_answer_is_the_whole_one() -> None:
    async with server(piece_chars=50) as it, client_of(it.base_url) as client:
        whole = await ask(client, n=2, seed=3)
        streamed = ["", ""]
        thinking = ["", ""]
        reasons: dict[int, str] = {}
        usage = None
        options = {"include_usage": True}
        async for chunk in await ask(client, n=2, seed=3, stream=True, stream_options=options):
            usage = chunk.usage or usage
            for choice in chunk.choices:
                streamed[choice.index] += choice.delta.content or ""
                thinking[choice.index] += getattr(choice.delta, "reasoning", None) or ""
                if choice.finish_reason:
                    reasons[choice.index] = choice.finish_reason
        assert streamed == texts(whole)
        assert thinking == [choice.message.reasoning for choice in whole.choices]
        assert reasons == {0: "stop", 1: "stop"}
        assert usage == whole.usage
        assert it.requests[1].replies == it.requests[0].replies
        assert it.requests[1].time_answered is not None


async def test_usage_is_streamed_only_on_request() -> None:
    async with server() as it, client_of(it.base_url) as client:
        assert all([chunk.usage is None async for chunk in await ask(client, stream=True)])


@pytest.mark.parametrize(("usage", "choices"), [("whole", 3), ("first_choice", 1)])
async def test_usage_counts_the_prompt_once_and_every_choice_or_one(
    usage: str, choices: int
) -> None:
    def script(request: Request, choice: int) -> ScriptedReply:
        return ScriptedReply(text="x" * 40, thinking="y" * 12)

    async with server(usage=usage, script=script) as it, client_of(it.base_url) as client:
        counted = (await ask(client, "z" * 80, n=3)).usage
        assert counted.prompt_tokens == 20
        assert counted.completion_tokens == 13 * choices
        assert counted.completion_tokens_details.reasoning_tokens == 3 * choices
        assert counted.total_tokens == 20 + 13 * choices


async def test_usage_may_be_missing() -> None:
    async with server(usage="none") as it, client_of(it.base_url) as client:
        assert (await ask(client)).usage is None


@pytest.mark.parametrize("style", ["reasoning", "reasoning_content"])
async def test_thinking_comes_in_a_field(style: str) -> None:
    reply = ScriptedReply(text=None, thinking="hm", finish_reason="length")
    async with (
        server(thinking=style, script=lambda request, choice: reply) as it,
        client_of(it.base_url) as client,
    ):
        choice = (await ask(client)).choices[0]
        assert getattr(choice.message, style) == "hm"
        assert choice.message.content is None
        assert choice.finish_reason == "length"


@pytest.mark.parametrize(("style", "opening"), [("inline", "<think>"), ("inline_unopened", "")])
async def test_thinking_comes_in_the_text(style: str, opening: str) -> None:
    reply = ScriptedReply(text="said", thinking="hm")
    async with (
        server(thinking=style, script=lambda request, choice: reply) as it,
        client_of(it.base_url) as client,
    ):
        assert texts(await ask(client)) == [f"{opening}hm</think>\n\nsaid"]


async def test_a_wrong_key_is_refused_in_the_shape_of_openai() -> None:
    async with server(key="right") as it:
        async with client_of(it.base_url, "wrong") as client:
            with pytest.raises(openai.AuthenticationError) as refused:
                await ask(client)
            assert refused.value.code == "invalid_api_key"
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()
        async with client_of(it.base_url, "right") as client:
            await ask(client)
            assert [model.id async for model in client.models.list()] == ["scripted"]
        assert [r.status for r in it.requests] == [401, 200]


async def test_an_unknown_model_is_not_found_and_the_served_ones_are_listed() -> None:
    async with server(models=("one", "two")) as it, client_of(it.base_url) as client:
        with pytest.raises(openai.NotFoundError, match="The model `three` does not exist") as error:
            await ask(client, model="three")
        assert isinstance(error.value.body, dict)
        assert error.value.body["type"] == "NotFoundError"
        assert [model.id async for model in client.models.list()] == ["one", "two"]
        answered = await ask(client, model="two")
        assert (answered.model, answered.system_fingerprint) == ("two", "fp_scripted")


async def test_a_body_that_is_no_request_is_refused_and_recorded() -> None:
    async with server() as it, aiohttp.ClientSession() as session:
        for body in (b"{half", b"[]", b'{"model": "scripted", "messages": ["text"]}'):
            async with session.post(f"{it.base_url}/chat/completions", data=body) as response:
                assert response.status == 400
        assert [r.status for r in it.requests] == [400] * 3


async def test_tokens_are_counted_where_that_is_served() -> None:
    async with server() as it, aiohttp.ClientSession(it.url) as session:
        async with session.get("/health") as response:
            assert response.status == 200
        question = {"model": "scripted", "prompt": "x" * 9}
        async with session.post("/tokenize", json=question) as response:
            assert response.status == 404
        it.change(tokenize=True)
        async with session.post("/tokenize", json=question) as response:
            assert (await response.json())["count"] == 3


async def test_latency_decides_who_is_answered_first_and_not_what_is_said() -> None:
    async with server() as it, client_of(it.base_url) as client:

        async def answers() -> list[str]:
            completions = await asyncio.gather(*(ask(client, f"question {i}") for i in range(4)))
            return [texts(completion)[0] for completion in completions]

        at_once = await answers()
        it.change(latency=lambda r: 0.16 - 0.05 * int(r.text[-1]))
        assert await answers() == at_once
        late = sorted(it.requests[4:], key=lambda r: r.time_answered or 0)
        assert [r.text for r in late] == [f"question {i}" for i in (3, 2, 1, 0)]
        assert it.max_in_flight == 4
        assert it.in_flight == 0


async def test_a_request_waits_for_its_slowest_choice() -> None:
    def script(request: Request, choice: int) -> ScriptedReply:
        return ScriptedReply(text="x", latency=0.05 * choice)

    async with server(script=script) as it, client_of(it.base_url) as client:
        await ask(client, n=3)
        request = it.requests[0]
        assert request.time_answered is not None
        assert request.time_answered - request.time_received >= 0.1


async def test_failures_are_chosen_by_the_request() -> None:
    busy = Failure(status=503, message="busy", headers={"Retry-After": "3"})

    def fail(request: Request) -> Failure | int | None:
        if request.seed == 2:
            return 500
        return busy if request.text == "busy" and request.attempt < 1 else None

    async with server(fail=fail) as it, client_of(it.base_url) as client:
        with pytest.raises(openai.InternalServerError, match="scripted failure"):
            await ask(client, seed=2)
        with pytest.raises(openai.APIStatusError, match="busy") as error:
            await ask(client, "busy")
        assert error.value.response.headers["retry-after"] == "3"
        await ask(client, "busy")
        it.change(fail=lambda request: Failure(status=418, body="tea"))
        with pytest.raises(openai.APIStatusError) as error:
            await ask(client)
        assert error.value.response.text == "tea"
        assert [r.status for r in it.requests] == [500, 503, 200, 418]
        assert [r.index for r in it.repeated()] == [2]


async def test_every_request_is_recorded() -> None:
    before = time.time()
    async with server() as it, client_of(it.base_url, "key") as client:
        said = await ask(client, "how?", n=2, seed=5, temperature=0.3)
        (request,) = it.requests
        assert (request.n, request.seed, request.status) == (2, 5, 200)
        assert request.body["temperature"] == 0.3
        assert request.messages == ({"role": "user", "content": "how?"},)
        assert request.headers["authorization"] == "Bearer key"
        assert [reply.text for reply in request.replies] == texts(said)
        assert request.time_answered is not None
        assert before <= request.time_received <= request.time_answered <= time.time()


async def test_a_client_that_leaves_is_recorded_and_no_longer_in_flight() -> None:
    arrived, left = asyncio.Event(), asyncio.Event()

    def latency(request: Request) -> float:
        arrived.set()
        return 60

    class Watched(ScriptedServer):
        def _update(self, index: int, **changes: Any) -> None:
            super()._update(index, **changes)
            left.set()

    async with (
        Watched(replace(scripted.DEFAULT, latency=latency)) as it,
        client_of(it.base_url) as client,
    ):
        call = asyncio.create_task(ask(client))
        await arrived.wait()
        call.cancel()
        await left.wait()
        assert it.requests[0].abandoned
        assert it.requests[0].time_answered is None
        assert it.in_flight == 0


async def test_replies_depend_on_messages_seed_and_choice_only() -> None:
    async with server() as it, client_of(it.base_url) as client:
        four = texts(await ask(client, n=4, seed=8))
        assert len(set(four)) == 4
        assert texts(await ask(client, seed=8)) != texts(await ask(client, "other", seed=8))
        assert texts(await ask(client)) != texts(await ask(client, seed=8))
    async with server(choices="ignored") as it, client_of(it.base_url) as client:
        one_by_one = await asyncio.gather(*(ask(client, seed=8 + i) for i in reversed(range(4))))
        assert [texts(one)[0] for one in reversed(one_by_one)] == four


async def test_800_requests_are_in_flight_at_once_at_less_than_a_millisecond_each() -> None:
    question = {"model": "scripted", "messages": [{"role": "user", "content": "?"}]}
    # All are held until the last has come.
    together = asyncio.Barrier(800)

    class Holding(ScriptedServer):
        async def _answer(self, http: Any, index: int) -> Any:
            await together.wait()
            return await super()._answer(http, index)

    async with (
        Holding(replace(scripted.DEFAULT, script=counting)) as it,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
    ):

        async def one() -> int:
            url = f"{it.base_url}/chat/completions"
            async with session.post(url, json=question) as response:
                await response.read()
                return response.status

        assert await asyncio.gather(*(one() for _ in range(800))) == [200] * 800
        assert it.max_in_flight == 800


def test_a_thread_serves_code_without_a_loop_and_the_port_is_kept() -> None:
    it = server(script=counting)
    for _ in range(2):
        with it:
            assert post(it.base_url, "?")["choices"][0]["message"]["content"] == "reply 0"
        with pytest.raises(OSError, match="refused"):
            post(it.base_url, "?")
    assert len(it.requests) == 2


def test_the_log_of_a_killed_process_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ServerProcess(log, ("--short", "--jitter", "0.02")) as it:
        said = [post(it.base_url, f"question {i}", n=2, seed=i) for i in range(20)]
        post(it.base_url, "last")  # the time may be lost: it is written once the reply is sent
        it.kill()
        requests = it.requests()
    assert requests.pop().text == "last"
    assert [r.text for r in requests] == [f"question {i}" for i in range(20)]
    assert [r.seed for r in requests] == list(range(20))
    for request, completion in zip(requests, said, strict=True):
        sent = [choice["message"]["content"] for choice in completion["choices"]]
        assert [reply.text for reply in request.replies] == sent
        assert request.time_answered is not None
        assert request.status == 200


def test_a_client_that_is_killed_is_recorded_as_not_answered() -> None:
    arrived = threading.Event()

    def latency(request: Request) -> float:
        if request.text != "late":
            return 0
        arrived.set()
        return 60

    client = "import sys, urllib.request as u; u.urlopen(sys.argv[1], sys.argv[2].encode())"
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "late"}]})
    with server(latency=latency) as it:
        url = f"{it.base_url}/chat/completions"
        with subprocess.Popen([sys.executable, "-c", client, url, body]) as process:
            assert arrived.wait(30)
            process.kill()
        post(it.base_url, "next")
        late, later = it.requests
    assert late.abandoned
    assert late.time_answered is None
    assert later.status == 200


def test_the_log_tells_what_the_server_recorded_but_for_the_keys(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with server(log=log, script=counting, fail=lambda r: 500 if r.seed == 1 else None) as it:
        post(it.base_url, "good\u2028line", n=2)
        with pytest.raises(OSError, match="500"):
            post(it.base_url, "bad", seed=1)
    assert read_log(log) == it.requests
    with log.open("a") as file:
        file.write('{"event": "recei')
    assert read_log(log) == it.requests


def test_a_server_that_is_started_again_adds_to_its_log_and_keys_are_left_out(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    with server(log=log, script=counting) as it:
        post(it.base_url, "before")
    with server(log=log, key="s3cret") as it:
        asked = urllib.request.Request(
            f"{it.base_url}/chat/completions", b"{}", {"Authorization": "Bearer s3cret"}
        )
        with pytest.raises(OSError, match="400"):
            urllib.request.urlopen(asked)
    assert "s3cret" not in log.read_text()
    assert [(r.index, r.status) for r in read_log(log)] == [(0, 200), (0, 400)]
