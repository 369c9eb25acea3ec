import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.scripted import server
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.models import pool, retrying
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import SEED_SPACING, checkpointed, seed_of
from tmas_graph.models.replies import Model, Reply, total
from tmas_graph.prompts import Prompt

ASK = Prompt([{"role": "user", "content": "Check it"}])
PLACE = Place("p", 0, "verification")
SEED = seed_of(0, PLACE)
_T = TypeVar("_T")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "backoff", lambda attempt: 0.0)


def draw(request: Request, choice: int) -> ScriptedReply:
    return ScriptedReply(text=request.draw(choice)[:8])


def within_a_graph(work: Callable[[Model], Awaitable[_T]], base_url: str, **fields: Any) -> _T:
    """What `work` gives in a LangGraph run, where tasks are allowed."""

    @entrypoint()
    async def run(_: str) -> Any:
        endpoint = Endpoint(base_url=base_url, model="scripted", **fields)
        return await work(checkpointed(endpoint, 0, PLACE))

    async def all_of_it() -> Any:
        try:
            return await run.ainvoke("go")
        finally:
            await pool.close()

    result: _T = asyncio.run(all_of_it())
    return result


async def five(model: Model) -> list[Reply]:
    return await model(ASK, n=5)


def replies_of(choices: str) -> tuple[list[str], list[tuple[int, int | None]]]:
    with server(script=draw, choices=choices) as scripted:
        replies = within_a_graph(five, scripted.base_url)
        assert total(replies).calls == len(scripted.requests)
        return [r.text for r in replies], sorted((r.n, r.seed) for r in scripted.requests)


SINGLE = [(1, SEED + j) for j in range(5)]


@pytest.mark.parametrize(
    ("choices", "asked"),
    [
        ("honoured", [(5, SEED)]),
        ("ignored", [*SINGLE[1:], (5, SEED)]),
        ("short", [(1, SEED + 4), (5, SEED)]),
        ("refused", [*SINGLE, (5, SEED)]),
    ],
)
def test_the_replies_are_the_same_however_a_server_takes_n(
    choices: str, asked: list[tuple[int, int]]
) -> None:
    texts, requests = replies_of(choices)
    assert texts == replies_of("honoured")[0]
    assert len(set(texts)) == 5
    assert requests == asked


def test_without_multiple_replies_each_is_asked_for_alone() -> None:
    with server(script=draw) as scripted:
        replies = within_a_graph(five, scripted.base_url, multiple_replies=False)
        assert sorted((r.n, r.seed) for r in scripted.requests) == SINGLE
    assert [r.text for r in replies] == replies_of("honoured")[0]


def test_a_server_that_does_not_take_n_is_asked_for_it_three_times() -> None:
    async def often(model: Model) -> list[Reply]:
        return [reply for _ in range(5) for reply in await model(ASK, n=3)]

    with server(script=draw, choices="refused") as scripted:
        assert len(within_a_graph(often, scripted.base_url)) == 15
        assert [r.n for r in scripted.requests].count(3) == 3
        assert len(scripted.requests) == 3 + 5 * 3


def test_a_server_that_refused_n_once_is_asked_for_it_again() -> None:
    async def often(model: Model) -> list[Reply]:
        return [reply for _ in range(5) for reply in await model(ASK, n=3)]

    with server(script=draw, fail=lambda r: None if r.index else 400) as scripted:
        within_a_graph(often, scripted.base_url)
        assert [r.n for r in scripted.requests].count(3) == 5


def test_one_reply_that_fails_leaves_the_others() -> None:
    def fail(request: Request) -> Failure | None:
        return Failure(status=400) if request.n > 1 or request.seed == SEED + 2 else None

    with server(script=draw, fail=fail) as scripted:
        assert len(within_a_graph(five, scripted.base_url)) == 4


@pytest.mark.parametrize(("status", "error"), [(400, RequestRefused), (500, EndpointDown)])
def test_if_no_reply_comes_the_cause_is_raised(status: int, error: type[Exception]) -> None:
    with (
        server(script=draw, fail=lambda r: status) as scripted,
        pytest.raises(error, match=f"HTTP {status}"),
    ):
        within_a_graph(five, scripted.base_url, attempts=2)


@pytest.mark.parametrize("status", [401, 404, 503])
def test_what_has_nothing_to_do_with_n_is_not_asked_again_one_by_one(status: int) -> None:
    with server(script=draw, fail=lambda r: status) as scripted:
        with pytest.raises((RequestRefused, EndpointDown)):
            within_a_graph(five, scripted.base_url, attempts=1)
        assert [r.n for r in scripted.requests] == [5]


def test_a_finished_call_is_not_made_again_and_its_key_is_not_stored() -> None:
    saver = InMemorySaver()
    broken = True

    def run_once(base_url: str) -> list[Reply]:
        @entrypoint(checkpointer=saver)
        async def run(_: str) -> list[Reply]:
            model = checkpointed(Endpoint(base_url=base_url, api_key="s3cret"), 0, PLACE)
            first = await model(ASK, n=2)
            if broken:
                raise RuntimeError("killed")
            return [*first, *await model(ASK)]

        async def all_of_it() -> list[Reply]:
            try:
                config: Any = {"configurable": {"thread_id": "1"}}
                return list(await run.ainvoke("go" if broken else None, config))
            finally:
                await pool.close()

        return asyncio.run(all_of_it())

    with server(script=draw, key="s3cret") as scripted:
        with pytest.raises(RuntimeError, match="killed"):
            run_once(scripted.base_url)
        assert len(scripted.requests) == 1
        broken = False
        replies = run_once(scripted.base_url)
        assert [r.n for r in scripted.requests] == [2, 1]
    assert [r.usage.calls for r in replies] == [1, 0, 1]
    assert "s3cret" not in repr([dict(saver.storage), dict(saver.writes), dict(saver.blobs)])


def test_base_seeds_leave_room_for_the_replies_of_a_request() -> None:
    seeds = [
        seed_of(run, Place(problem, t, role, i))
        for run in (0, 1)
        for problem in ("p", "q")
        for t in range(5)
        for role in ("solution", "verification")
        for i in range(5)
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 and seed % SEED_SPACING == 0 for seed in seeds)
    assert seed_of(0, Place("p", 0, "solution")) == 568_397_824
