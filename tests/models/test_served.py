from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from serving import serving

from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.models import served
from tmas_graph.models.connections import connections
from tmas_graph.models.faults import Fault
from tmas_graph.models.served import Card, Server

pytestmark = pytest.mark.anyio
MESSAGES: Any = [{"role": "user", "content": "What is 6·7?"}]


@asynccontextmanager
async def asked(answers: dict[str, Any], seen: list[Any] | None = None) -> AsyncIterator[Server]:
    """A server that answers by path: with JSON, or with a status."""

    async def answer(request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        if seen is not None:
            seen.append((request.path, body, request.headers.get("authorization")))
        said = answers.get(request.path, 404)
        if isinstance(said, int):
            return web.json_response({"error": {"message": "no"}}, status=said)
        return web.Response(text=said) if isinstance(said, str) else web.json_response(said)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with serving(application) as url, connections(url, 2) as http:
        yield Server(f"{url}/v1/", "s3cret", http)


@pytest.mark.parametrize(
    ("entry", "length"),
    [
        ({"max_model_len": 1024}, 1024),
        ({"context_length": 1024}, 1024),
        ({"context_window": 1024}, 1024),
        ({"max_context_length": 1024}, 1024),
        ({"max_model_len": None, "context_length": 512}, 512),
        ({"max_model_len": "1024"}, None),
        ({"max_model_len": True}, None),
        ({"max_model_len": 0}, None),
        ({}, None),
    ],
)
async def test_the_length_of_a_context_has_many_names(entry: Any, length: int | None) -> None:
    async with asked({"/v1/models": {"data": [{"id": "m", **entry}]}}) as server:
        assert await server.cards() == [Card("m", length)]


async def test_a_loras_length_is_its_parents() -> None:
    listed = [
        {"id": "base", "max_model_len": 1024, "parent": None},
        {"id": "lora", "parent": "base"},
        {"id": "base", "max_model_len": 1024},
        {"id": "other", "parent": "unlisted"},
    ]
    async with asked({"/v1/models": {"data": listed}}) as server:
        cards = await server.cards()
    assert [(c.name, c.length) for c in cards] == [
        ("base", 1024),
        ("lora", 1024),
        ("base", 1024),
        ("other", None),
    ]


@pytest.mark.parametrize(
    "answer", [404, 405, {}, [], "<html>", {"data": None}, {"data": [3, {}]}, "null"]
)
async def test_who_cant_list_lists_none(answer: Any) -> None:
    async with asked({"/v1/models": answer}) as server:
        assert await server.cards() == []


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_doesnt_list_none(status: int) -> None:
    async with asked({"/v1/models": status}) as server:
        with pytest.raises(EndpointDown, match=f"HTTP {status}"):
            await server.cards()


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_said(status: int) -> None:
    async with asked({"/v1/models": status}) as server:
        with pytest.raises(RequestRefused, match=r"key is refused .*Set TMAS_API_KEY"):
            await server.cards()


@pytest.mark.parametrize(
    ("props", "length"),
    [
        ({"default_generation_settings": {"n_ctx": 512}}, 512),
        ({"default_generation_settings": None}, None),
        ([], None),
        (404, None),
        ("", None),
    ],
)
async def test_the_slot_of_llama_cpp_is_found_at_the_root(props: Any, length: int | None) -> None:
    async with asked({"/props": props}) as server:
        assert await server.slot_length() == length


async def test_vllm_counts_a_prompt_with_its_template() -> None:
    seen: list[Any] = []
    fields = {"chat_template_kwargs": {"enable_thinking": False}, "top_k": 3}
    async with asked({"/tokenize": {"count": 18, "tokens": []}}, seen) as server:
        assert await server.tokens("m", MESSAGES, fields) == 18
    [(_, body, key)] = seen
    assert body == {
        "model": "m",
        "messages": MESSAGES,
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert key == "Bearer s3cret"


async def test_llama_cpp_counts_a_text() -> None:
    async with asked({"/tokenize": {"tokens": [1, 2, 3]}}) as server:
        assert await server.tokens("m", MESSAGES, {}) is None
        assert await server.bare_tokens("x") == 3


@pytest.mark.parametrize("answer", [404, 400, [], {}, {"count": "3"}, {"tokens": []}, "x"])
async def test_who_cant_count_counts_none(answer: Any) -> None:
    async with asked({"/tokenize": answer}) as server:
        assert await server.tokens("m", MESSAGES, {}) is None
        assert await server.bare_tokens("x") is None


async def test_a_server_that_cant_count_now_says_so() -> None:
    async with asked({"/tokenize": 503}) as server:
        with pytest.raises(Fault, match="HTTP 503"):
            await server.tokens("m", MESSAGES, {})


async def test_questions_have_a_limit_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "_SECONDS", 0.0)
    async with asked({"/v1/models": {}}) as server:
        with pytest.raises(EndpointDown, match="no answer came within 0 s"):
            await server.cards()
