"""Runs that call vLLM: replies topped up and continued, and the whole graph."""

from typing import Any

import httpx2
import pytest
from clients import ASK
from langgraph.func import entrypoint

from engines.api import PLAIN, metric
from engines.ours import endpoint
from engines.process import KEY, VllmServer
from tmas_graph import Settings, asolve
from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import checkpointed
from tmas_graph.models.replies import Reply, total

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.timeout(600),
    pytest.mark.anyio,
    pytest.mark.usefixtures("pooled"),
]
PLACE = Place("p", 0, "solution")
CHATS = 'handler="/v1/chat/completions"'


async def replies_of(at: Endpoint, n: int) -> list[Reply]:
    """`n` replies to ASK, in a run of LangGraph, where calls may be tasks."""

    @entrypoint()
    async def run(_: str) -> list[Reply]:
        return await checkpointed(at, 0, PLACE)(ASK, n=n)

    replies: list[Reply] = await run.ainvoke("go")
    return replies


async def test_replies_asked_for_one_by_one_are_those_of_one_request(engine: VllmServer) -> None:
    at = endpoint(engine, max_tokens=12, extra_body={"min_tokens": 12, **PLAIN})
    together = await replies_of(at, 4)
    alone = await replies_of(at.model_copy(update={"multiple_replies": False}), 4)
    assert [reply.text for reply in alone] == [reply.text for reply in together]
    assert len({reply.text for reply in together}) == 4
    assert (total(together).calls, total(alone).calls) == (1, 4)


async def test_a_truncated_reply_is_continued_to_one_text(engine: VllmServer) -> None:
    def at(max_tokens: int, **fields: Any) -> Endpoint:
        more = {"ignore_eos": True, **PLAIN}
        return endpoint(engine, temperature=0, max_tokens=max_tokens, extra_body=more, **fields)

    [begun] = await replies_of(at(8), 1)
    [whole] = await replies_of(at(16), 1)
    [joined] = await replies_of(at(8, truncated="continue"), 1)
    assert joined.text == whole.text
    assert joined.text.startswith(begun.text)
    assert (joined.usage.calls, joined.usage.completion_tokens) == (2, 16)


async def test_a_text_after_thinking_is_continued_to_one_text(engine: VllmServer) -> None:
    """vLLM takes what it goes on with for thinking, whose end it hasn't seen."""
    more = {"thinking_token_budget": 6, "ignore_eos": True}
    at = endpoint(engine, max_tokens=24, extra_body=more, truncated="continue")
    [begun] = await replies_of(at.model_copy(update={"truncated": "keep"}), 1)
    [joined] = await replies_of(at, 1)
    assert joined.thinking == begun.thinking
    assert joined.text.startswith(begun.text)
    assert len(joined.text) > len(begun.text) > 0
    assert "think>" not in joined.text


async def test_the_whole_graph_counts_what_vllm_counts(
    engine: VllmServer, client: httpx2.Client
) -> None:
    counts = {"http_requests_total": CHATS, "vllm:generation_tokens_total": ""}
    before = [metric(client, name, label) for name, label in counts.items()]
    given = Settings(
        base_url=f"{engine.url}/v1",
        api_key=KEY,
        candidates=2,
        verifications=2,
        iterations=2,
        early_stop=False,
        max_tokens=16,
        extra_body={"thinking_token_budget": 4, "stop": ["."]},
    )
    result = await asolve("What is 6*7?", given)
    after = [metric(client, name, label) for name, label in counts.items()]
    spent = [now - then for now, then in zip(after, before, strict=True)]
    assert result.iterations == 2
    assert spent == [result.usage.calls, result.usage.completion_tokens]
    assert result.usage.reasoning_tokens > 0
    assert result.usage.estimated_tokens == 0
