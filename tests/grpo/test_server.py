"""Deadlines, retries and refusals of requests to the server."""

import asyncio
from typing import Any

import pytest
from aiohttp import web

from grpo.fake_vllm import FakeVllm
from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.grpo.server import Patience, Server, Unusable

pytestmark = pytest.mark.anyio
QUICK = Patience(20.0, attempts=3, pause=0.001)


async def asked(fake: FakeVllm, patience: Patience = QUICK) -> Any:
    async with Server(f"{fake.url}/v1/") as server:
        return await server.post("/pause", {"a": 1}, patience)


@pytest.mark.parametrize("fault", [500, 502, 503, 429, 408, "drop"])
async def test_what_may_pass_is_asked_for_again(fake: FakeVllm, fault: Any) -> None:
    fake.fail("/pause", fault, fault)
    assert await asked(fake) == {"status": "paused"}
    assert fake.asked == [("/pause", {"a": 1})] * 3


@pytest.mark.parametrize("fault", [500, 429, "drop"])
async def test_patience_ends(fake: FakeVllm, fault: Any) -> None:
    fake.fail("/pause", *[fault] * 3)
    with pytest.raises(EndpointDown, match=r"in attempt 3 of 3\. See whether") as caught:
        await asked(fake)
    assert caught.value.status == (fault if fault != "drop" else None)


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_refusal_is_final(fake: FakeVllm, status: int) -> None:
    fake.fail("/pause", status)
    with pytest.raises(RequestRefused, match=rf"refused with {status} \(scripted\)") as caught:
        await asked(fake)
    assert caught.value.status == status
    assert len(fake.asked) == 1


async def test_an_unknown_route_names_the_serve_command(fake: FakeVllm) -> None:
    async with Server(fake.url) as server:
        with pytest.raises(RequestRefused, match="`tmas train serve`"):
            await server.post("/nowhere", None, QUICK)


async def test_a_refused_key_is_said_to_be_one(fake: FakeVllm) -> None:
    fake.fail("/pause", web.json_response({"error": "Unauthorized"}, status=401))
    with pytest.raises(RequestRefused, match=r"\(Unauthorized\)\. Give the server's API key"):
        await asked(fake)


async def test_an_answer_that_never_comes_meets_the_deadline(fake: FakeVllm) -> None:
    never = asyncio.Event()
    fake.fail("/pause", never, never)
    with pytest.raises(EndpointDown, match=r"no answer within 0\.05 s, in attempt 2"):
        await asked(fake, Patience(0.05, attempts=2, pause=0.001))
    never.set()


async def test_a_server_that_is_not_there_is_named() -> None:
    async with Server("http://127.0.0.1:9") as server:
        with pytest.raises(EndpointDown, match=r"127\.0\.0\.1:9/x: the connection failed"):
            await server.get("/x", QUICK)


async def test_a_body_that_is_no_json_is_asked_for_again(fake: FakeVllm) -> None:
    fake.fail("/pause", web.Response(text="{", content_type="application/json"))
    assert await asked(fake) == {"status": "paused"}


async def test_a_reader_can_ask_again(fake: FakeVllm) -> None:
    seen: list[Any] = []

    def read(body: Any) -> int:
        seen.append(body)
        if len(seen) < 3:
            raise Unusable("not yet")
        return len(seen)

    async with Server(fake.url) as server:
        assert await server.post("/pause", None, QUICK, read) == 3


def test_pauses_grow_and_heed_the_server() -> None:
    patience = Patience(1.0, pause=0.5)
    assert [patience.before(attempt, None) for attempt in (2, 3, 4)] == [0.5, 1.0, 2.0]
    assert patience.before(2, 7.0) == 7.0
    assert patience.before(2, 900.0) == patience.before(20, None) == 30.0
