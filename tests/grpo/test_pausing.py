"""A server whose weights change: it goes on, whatever happens meanwhile."""

import asyncio

import pytest

from grpo.fake_vllm import FakeVllm
from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.grpo import pausing
from tmas_graph.grpo.pausing import paused
from tmas_graph.grpo.server import Server

pytestmark = pytest.mark.anyio
ALL = ["/pause", "/reset_prefix_cache", "/resume", "/is_paused"]


async def test_the_cache_is_emptied_before_it_goes_on(fake: FakeVllm) -> None:
    async with Server(fake.url) as server, paused(server, 20.0):
        assert fake.paused
    assert fake.paths() == ALL
    assert not fake.paused


async def test_it_goes_on_after_a_failure_inside(fake: FakeVllm) -> None:
    async with Server(fake.url) as server:
        with pytest.raises(ZeroDivisionError):
            async with paused(server, 20.0):
                raise ZeroDivisionError
    assert fake.paths() == ["/pause", "/resume", "/is_paused"]
    assert not fake.paused


async def test_it_goes_on_where_the_pause_had_no_answer(fake: FakeVllm) -> None:
    never = asyncio.Event()
    fake.fail("/pause", never)
    async with Server(fake.url) as server:
        with pytest.raises(EndpointDown, match="weights are those it had before"):
            async with paused(server, 0.05):
                pytest.fail("it isn't paused")
    assert fake.paths() == ["/pause", "/resume", "/is_paused"]
    never.set()


async def test_it_goes_on_where_the_trainer_is_cancelled(fake: FakeVllm) -> None:
    inside, resuming = asyncio.Event(), asyncio.Event()
    fake.fail("/resume", resuming)

    async def hold() -> None:
        async with Server(fake.url) as server, paused(server, 20.0):
            inside.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await inside.wait()
    task.cancel()
    await fake.arrived(1, "/resume")
    task.cancel()  # impatient
    await asyncio.sleep(0)
    resuming.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not fake.paused
    assert fake.paths()[-1] == "/is_paused"


async def test_a_cache_that_stays_full_is_an_error(
    fake: FakeVllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pausing, "_PAUSE", 0.001)
    fake.fail("/reset_prefix_cache", *[lambda body: {"success": False}] * 5)
    async with Server(fake.url) as server:
        with pytest.raises(EndpointDown, match="prefix cache wasn't reset"):
            async with paused(server, 20.0):
                pass
    assert not fake.paused


async def test_a_server_that_stays_paused_is_told_of(
    fake: FakeVllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pausing, "_PAUSE", 0.001)
    fake.fail("/is_paused", *[lambda body: {"is_paused": True}] * 5)
    async with Server(fake.url) as server:
        with pytest.raises(EndpointDown, match=rf"POST {server.url}/resume, or start it again"):
            async with paused(server, 20.0):
                pass


async def test_a_server_without_its_routes_is_told_apart(fake: FakeVllm) -> None:
    fake.fail("/pause", 404)
    fake.fail("/resume", 404)
    async with Server(fake.url) as server:
        with pytest.raises(RequestRefused, match="`tmas train serve`"):
            async with paused(server, 20.0):
                pass
