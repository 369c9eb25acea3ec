"""Prompts that our client fits into vLLM's context, whether it knows its length or not."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import httpx2
import pytest
from clients import ASK, shrinking

from engines.api import PLAIN, of_length
from engines.ours import STREAMED, WHOLE, endpoint, hiding, model_of, refusal
from engines.process import CONTEXT, MODEL, VllmServer
from tmas_graph.errors import RequestRefused
from tmas_graph.models.context import Asked
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.limiter import Limiter
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(600),
    pytest.mark.anyio,
    pytest.mark.usefixtures("pooled"),
]
FOREVER: dict[str, Any] = {"ignore_eos": True, **PLAIN}
TOO_LONG = 40
"""Paragraphs of `shrinking` that are several times the context."""


@pytest.fixture
async def unknowing(engine: VllmServer) -> AsyncIterator[EndpointClient]:
    """A client that can learn neither the length of the context nor that of a prompt."""
    given = endpoint(engine, model=MODEL, max_tokens=4, extra_body=PLAIN)
    async with aiohttp.ClientSession(middlewares=(hiding,)) as http:
        yield EndpointClient(given, str(given.base_url), http=http, limiter=Limiter(1))


async def test_the_length_of_the_context_is_learned_and_prompts_are_counted_exactly(
    engine: VllmServer,
) -> None:
    model = await model_of(engine, max_tokens=4, extra_body=PLAIN)
    assert await model.check() == MODEL
    assert model.window.length == CONTEXT
    fitted = await model.window.fit(shrinking(3), 1000, Asked(MODEL, PLAIN), model.window.length)
    call = await model.ask(fitted.prompt, Ask())
    assert fitted.tokens == call.usage.prompt_tokens


@pytest.mark.parametrize("stream", [STREAMED, WHOLE])
async def test_a_prompt_far_too_long_is_made_smaller_before_it_is_sent(
    engine: VllmServer, stream: bool
) -> None:
    model = await model_of(engine, stream=stream, max_tokens=4, extra_body=PLAIN)
    call = await model.ask(shrinking(TOO_LONG), Ask())
    assert [sending.status for sending in call.sendings] == [None]
    assert 0 < call.cut["paragraphs"] < TOO_LONG
    assert CONTEXT // 2 < call.usage.prompt_tokens <= CONTEXT - 4


@pytest.mark.parametrize("tokens", [CONTEXT, 3 * CONTEXT])
async def test_a_prompt_that_can_not_be_made_smaller_is_refused_before_it_is_sent(
    engine: VllmServer, client: httpx2.Client, tokens: int
) -> None:
    model = await model_of(engine, max_tokens=4, extra_body=PLAIN)
    call, error = await refusal(model, Prompt(of_length(client, tokens)))
    assert isinstance(error, RequestRefused)
    assert str(error) == (
        f"{engine.url}/v1: the request is too long for the model (about {tokens} tokens of prompt "
        f"for {CONTEXT} of context). Serve it with a longer context, or set context_tokens, "
        "rollouts_tokens or max_tokens lower."
    )
    assert call.sendings == ()


async def test_more_tokens_than_the_context_has_left_are_lowered_to_those(
    engine: VllmServer, client: httpx2.Client
) -> None:
    model = await model_of(engine, max_tokens=5000, extra_body=FOREVER)
    call = await model.ask(Prompt(of_length(client, CONTEXT - 6)), Ask())
    assert call.sampling["max_tokens"] == call.usage.completion_tokens == 6
    assert [reply.ending for reply in call.replies] == ["truncated"]


async def test_without_a_limit_of_ours_a_reply_ends_with_the_context(
    engine: VllmServer, client: httpx2.Client
) -> None:
    model = await model_of(engine, extra_body=FOREVER)
    call = await model.ask(Prompt(of_length(client, CONTEXT - 6)), Ask())
    assert call.usage.completion_tokens == 6


async def test_a_refused_prompt_is_made_smaller_until_it_is_served(
    unknowing: EndpointClient,
) -> None:
    call = await unknowing.ask(shrinking(TOO_LONG), Ask())
    *refused, served = call.sendings
    assert {sending.status for sending in refused} == {400}
    assert "maximum context length is 1024 tokens" in refused[0].outcome
    assert served.outcome == "answered"
    assert 0 < call.cut["paragraphs"] < TOO_LONG
    assert call.usage.calls == len(call.sendings)
    again = await unknowing.ask(shrinking(TOO_LONG), Ask())
    assert len(again.sendings) == 1


async def test_a_prompt_that_leaves_no_room_for_a_reply_is_made_smaller(
    unknowing: EndpointClient, client: httpx2.Client
) -> None:
    """vLLM calls this a fault of max_tokens."""
    full = dataclasses.replace(Prompt(of_length(client, CONTEXT)), smaller=lambda tokens: ASK)
    call = await unknowing.ask(full, Ask())
    assert [sending.status for sending in call.sendings] == [400, None]
    assert "max_tokens must be at least 1" in call.sendings[0].outcome
    assert list(call.messages) == ASK.messages


async def test_vllms_words_count_where_a_refused_prompt_can_not_be_made_smaller(
    unknowing: EndpointClient, client: httpx2.Client
) -> None:
    _, error = await refusal(unknowing, Prompt(of_length(client, CONTEXT + 1)))
    assert isinstance(error, RequestRefused)
    assert "too long for the model (HTTP 400 (This model's maximum context" in str(error)


async def test_more_tokens_than_an_unknown_context_has_are_lowered(
    unknowing: EndpointClient,
) -> None:
    call = await unknowing.ask(ASK, Ask(max_tokens=CONTEXT + 1, fields={"stop": [" "]}))
    assert [sending.status for sending in call.sendings] == [400, None]
    assert call.sampling["max_tokens"] < CONTEXT
