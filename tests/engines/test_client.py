"""Our client's replies of vLLM: thinking, choices, seeds, counts, and calls that are given up."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from clients import ASK, asking, until

from engines.api import PLAIN, answered, connect, metric
from engines.ours import STREAMED, WHOLE, model_of, refusal
from engines.process import MODEL, USUAL, VllmServer
from tmas_graph.errors import EndpointDown
from tmas_graph.models.making import Ask
from tmas_graph.usage import Usage

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(600),
    pytest.mark.anyio,
    pytest.mark.usefixtures("pooled"),
]
either_way = pytest.mark.parametrize("stream", [STREAMED, WHOLE])
TEXT = ASK.messages
THINK: dict[str, Any] = {"thinking_token_budget": 6, "min_tokens": 24}
"""Six tokens of thinking, then the server itself ends it, and some text follows."""
ENDLESS: dict[str, Any] = {"min_tokens": 900, "max_tokens": 900}
ENDED = {500: "EngineCore encountered an issue", None: "the server gave the reply up"}
"""What is said of an engine that dies, by the status of the error event; None if none came."""


@either_way
async def test_thinking_is_kept_apart_from_text(engine: VllmServer, stream: bool) -> None:
    model = await model_of(engine, stream=stream, max_tokens=24, extra_body=THINK)
    [reply] = (await model.ask(ASK, Ask(seed=1))).replies
    assert reply.thinking
    assert reply.text
    assert "think>" not in reply.thinking + reply.text
    assert 0 < reply.usage.reasoning_tokens < reply.usage.completion_tokens == 24


@either_way
async def test_a_reply_that_is_cut_while_thinking_has_no_text(
    engine: VllmServer, stream: bool
) -> None:
    cut = {"min_tokens": 6}
    model = await model_of(engine, stream=stream, max_tokens=6, extra_body=cut)
    [reply] = (await model.ask(ASK, Ask(seed=1))).replies
    assert (reply.ending, reply.text) == ("truncated", "")
    assert reply.thinking
    assert reply.usage.completion_tokens == 6


@either_way
async def test_several_replies_are_one_request_and_are_counted_as_vllm_counts_them(
    engine: VllmServer, client: httpx2.Client, stream: bool
) -> None:
    fields: dict[str, Any] = {"min_tokens": 4, **PLAIN}
    model = await model_of(engine, stream=stream, max_tokens=4, extra_body=fields)
    call = await model.ask(ASK, Ask(n=3, seed=5))
    said = answered(client, messages=TEXT, n=3, seed=5, max_tokens=4, **fields)["usage"]
    assert len(call.replies) == 3
    assert call.usage == Usage(
        calls=1,
        prompt_tokens=said["prompt_tokens"],
        completion_tokens=said["completion_tokens"],
        cached_tokens=call.usage.cached_tokens,
    )
    assert [reply.usage for reply in call.replies] == [call.usage, Usage(), Usage()]
    assert (call.model, call.served) == (MODEL, MODEL)


async def test_a_prompt_that_was_seen_counts_as_cached(engine: VllmServer) -> None:
    model = await model_of(engine, max_tokens=1, extra_body=PLAIN)
    first, second = [(await model(asking("lake " * 300)))[0].usage for _ in range(2)]
    assert first.cached_tokens == 0
    assert 0 < second.cached_tokens < second.prompt_tokens == first.prompt_tokens


@either_way
async def test_a_call_beyond_its_deadline_frees_the_engine_and_is_charged(
    engine: VllmServer, client: httpx2.Client, stream: bool
) -> None:
    model = await model_of(engine, stream=stream, timeout_seconds=1.5, extra_body=ENDLESS)
    await model.check()
    call, error = await refusal(model, ASK, n=2)
    await until(lambda: metric(client, "vllm:num_requests_running") == 0)
    assert isinstance(error, EndpointDown)
    assert "no reply came within 1.5 s" in str(error)
    assert "timeout_seconds" in str(error)
    assert error.usage == call.usage
    assert call.usage.calls == 1
    assert call.usage.prompt_tokens > 0
    assert call.usage.estimated_tokens == call.usage.tokens


async def test_a_call_that_is_cancelled_frees_the_engine_and_is_charged(
    engine: VllmServer, client: httpx2.Client
) -> None:
    model = await model_of(engine, extra_body=ENDLESS)
    calls: list[Any] = []
    asked = asyncio.create_task(model.ask(ASK, Ask(), calls.append))
    await until(lambda: metric(client, "vllm:num_requests_running") == 1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await until(lambda: metric(client, "vllm:num_requests_running") == 0)
    assert [call.usage.calls for call in calls] == [1]


async def test_an_engine_that_dies_is_said_to_be_broken_and_its_call_is_charged(
    engine_home: Path, tmp_path: Path
) -> None:
    """It ends a stream with an error event, or with "abort", and then as if all were well."""
    longer = {"min_tokens": 8000, "max_tokens": 8000}  # ten minutes, lest it end before it dies
    options = (*USUAL, "--max-model-len=8192")
    with (
        VllmServer(engine_home, tmp_path / "vllm.log", options) as server,
        connect(server.url) as client,
    ):
        model = await model_of(server, extra_body=longer)
        asked = asyncio.create_task(refusal(model, ASK))
        await until(lambda: metric(client, "vllm:generation_tokens_total") > 20)
        os.kill(server.worker(), signal.SIGKILL)
        call, error = await asked
    assert isinstance(error, EndpointDown)
    assert call.replies == ()
    assert ENDED[error.status] in str(error)
    assert call.usage.completion_tokens > 5
