"""The synthetic reasoner's server: our client gets from it what the reasoner itself would say."""

import asyncio
import random
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import aiohttp
import pytest
from serving import serving

from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.line import Line, Pace
from benchmarks.reasoner.runs import points
from benchmarks.reasoner.server import Server
from benchmarks.reasoner.trouble import Trouble
from benchmarks.reasoner.world import Nature, question, world
from tmas_graph import Problem, Settings, asolve
from tmas_graph.models import pool

pytestmark = pytest.mark.anyio
CODE, TEXT = question(3)
ASKED = {
    "model": "reasoner",
    "seed": 7,
    "messages": [{"role": "user", "content": f"{TEXT}\n\n# Your task: solve the problem"}],
}


def served(server: Server) -> AbstractAsyncContextManager[str]:
    return serving(server.app(), handler_cancellation=True, shutdown_timeout=0.1)


async def asked(url: str, **more: object) -> dict[str, object]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json={**ASKED, **more}) as response,
    ):
        return {"status": response.status, **(await response.json())}


@pytest.mark.usefixtures("pooled")
async def test_a_run_over_http_goes_as_one_inside_the_process() -> None:
    settings = {"candidates": 2, "verifications": 2, "iterations": 2, "epsilon": 0.5}
    gold = str(world(CODE, Nature()).answer)
    runs = []
    for stream in (True, False):
        async with served(Server()) as url:
            given = Settings.preset("paper", base_url=f"{url}/v1", stream=stream, **settings)
            result = await asolve(Problem(TEXT, "p3"), given)
            await pool.close()
        runs.append((result.answer, points(result, gold)))
    assert runs[0] == runs[1]


async def test_reply_j_of_a_request_is_that_of_its_own_seed() -> None:
    async with served(Server()) as url:
        together, alone = await asked(url, n=3), await asked(url, seed=9)
    assert [c["message"]["content"] for c in together["choices"]][2:] == [  # type: ignore[attr-defined]
        c["message"]["content"]
        for c in alone["choices"]  # type: ignore[attr-defined]
    ]


async def test_an_unknown_prompt_is_refused_and_counted() -> None:
    server = Server()
    async with served(server) as url:
        answer = await asked(url, messages=[{"role": "user", "content": "Sing."}])
    assert answer["status"] == 400
    assert server.counts["unknown"] == server.reasoner.asked["unknown"] == 1


@pytest.mark.parametrize("body", [{"messages": None}, {"messages": [{}]}, {"seed": "x"}])
async def test_a_request_that_cannot_be_read_is_refused(body: dict[str, object]) -> None:
    async with served(Server()) as url:
        assert (await asked(url, **body))["status"] == 400


@pytest.mark.usefixtures("pooled")
async def test_what_is_counted_is_what_the_client_is_charged() -> None:
    server = Server(trouble=Trouble(errors=0.2, seed=1))
    async with served(server) as url:
        given = Settings.preset(
            "paper", base_url=f"{url}/v1", candidates=2, verifications=2, iterations=1
        )
        result = await asolve(Problem(TEXT, "p3"), given)
    spent = server.counts["prompt_tokens"] + server.counts["completion_tokens"]
    assert result.usage.tokens - result.usage.estimated_tokens == spent
    assert result.usage.calls == server.counts["answered"] + server.counts["error"]


async def test_a_cut_reply_ends_for_its_length() -> None:
    async with served(Server(trouble=Trouble(cuts=1.0))) as url:
        answer = await asked(url)
    assert answer["choices"][0]["finish_reason"] == "length"  # type: ignore[index]


async def test_a_reply_keeps_to_the_most_tokens_asked_for() -> None:
    async with served(Server()) as url:
        answer = await asked(url, max_tokens=100)
    assert answer["usage"]["completion_tokens"] <= 101  # type: ignore[index]
    assert answer["choices"][0]["finish_reason"] == "length"  # type: ignore[index]


async def until(state: Callable[[], bool]) -> None:
    """Wait for a state, not for a time; the test's own limit ends a wait in vain."""
    while not state():  # noqa: ASYNC110  (nobody tells when it comes)
        await asyncio.sleep(0)


async def test_a_hanging_request_frees_its_place_when_the_client_goes() -> None:
    server = Server(pace=Pace(capacity=1), trouble=Trouble(hangs=1.0))
    async with served(server) as url:
        asking = asyncio.create_task(asked(url))
        await until(lambda: server.counts["hang"] == 1)
        asking.cancel()
        await until(lambda: server.line.served == 0)
    assert server.line.most == 1


async def test_no_more_are_served_at_a_time_than_there_is_room_for() -> None:
    line = Line(Pace(capacity=3))
    seen = []

    async def one() -> None:
        async with line.place(0.001):
            seen.append(line.served)

    await asyncio.gather(*(one() for _ in range(20)))
    assert max(seen) == line.most == 3
    assert line.busy_seconds == pytest.approx(0.02)


def test_latencies_have_the_mean_asked_for_and_a_heavy_tail() -> None:
    rng, pace = random.Random(0), Pace(mean=2.0)
    drawn = sorted(pace.seconds(rng) for _ in range(20_000))
    assert sum(drawn) / len(drawn) == pytest.approx(2.0, rel=0.03)
    assert drawn[19_800] > 5 * drawn[10_000]


def test_trouble_comes_at_the_rates_asked_for() -> None:
    trouble = Trouble(errors=0.05, hangs=0.01, cuts=0.02)
    kinds = [trouble.of(number) for number in range(20_000)]
    for kind, share in (("error", 0.05), ("hang", 0.01), ("cut", 0.02)):
        assert kinds.count(kind) / len(kinds) == pytest.approx(share, abs=0.004)  # type: ignore[arg-type]


def test_the_same_reasoner_answers_in_and_out_of_the_process() -> None:
    said = Reasoner().speak(ASKED["messages"], 7)  # type: ignore[arg-type]
    assert said == Reasoner().speak(ASKED["messages"], 7)  # type: ignore[arg-type]
