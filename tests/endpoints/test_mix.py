"""Faults drawn by chance."""

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from endpoints.fault import Fault
from endpoints.faults import connection, errors
from endpoints.faults.catalogue import BY_NAME, HANGS, QUICK
from endpoints.faults.mix import at_most, evenly, mix
from endpoints.journal import read_log
from endpoints.process import ServerProcess
from endpoints.reading import take
from endpoints.scripted import server

pytestmark = pytest.mark.anyio
RATES = {errors.http(500): 0.3, errors.http(429): 0.2, connection.drop(): 0.1}


async def met(seed: int, texts: list[str], repeats: int = 1) -> dict[tuple[str, int], str | None]:
    async with server(fault=mix(seed, RATES)) as it:
        for _ in range(repeats):
            await asyncio.gather(*(take(it.base_url, text) for text in texts))
        return {(request.text, request.attempt): request.fault for request in it.requests}


async def test_the_same_seed_gives_the_same_faults_in_any_order() -> None:
    texts = [f"question {i}" for i in range(40)]
    one = await met(1, texts, repeats=2)
    assert one == await met(1, texts[::-1], repeats=2)
    assert one != await met(2, texts, repeats=2)


async def test_a_repeat_may_meet_another_fault() -> None:
    faults = await met(1, ["?"], repeats=30)
    assert len(faults) == 30
    assert set(faults.values()) == {"http_500", "http_429", "drop_before_headers", None}


async def test_each_fault_comes_about_as_often_as_its_rate_says() -> None:
    count = Counter((await met(5, [str(i) for i in range(400)])).values())
    expected = {"http_500": 120, "http_429": 80, "drop_before_headers": 40, None: 160}
    for name, often in expected.items():
        assert abs(count[name] - often) < 40


async def test_the_last_attempts_may_be_spared() -> None:
    fault = at_most(2, mix(1, {errors.http(500): 1.0}))
    async with server(fault=fault) as it:
        assert [(await take(it.base_url)).status for _ in range(4)] == [500, 500, 200, 200]


def test_rates_of_more_than_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.5 together"):
        mix(0, {errors.http(500): 1.0, errors.http(503): 0.5})


def test_each_fault_of_the_catalogue_has_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(QUICK) + len(HANGS)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: fault.name)
async def test_every_quick_fault_ends_by_itself(fault: Fault, stream: bool) -> None:
    async with server(fault=lambda request: fault) as it:
        await take(it.base_url, stream=stream, n=2)
        it.change(fault=None)
        assert (await take(it.base_url)).status == 200
    assert it.in_flight == 0
    assert not it.requests[0].abandoned


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("fault", [f for f in QUICK if not f.harmless], ids=lambda f: f.name)
async def test_a_fault_that_does_harm_changes_what_comes(fault: Fault, stream: bool) -> None:
    async def what_comes(fault: Fault | None) -> object:
        async with server(fault=lambda request: fault) as it:
            taken = await take(it.base_url, stream=stream, n=3)
            changes.append(it.requests[0].fault)
            return taken.status, re.sub(rb'"created": \d+', b"", taken.body), taken.broken

    changes: list[str | None] = []
    same = await what_comes(None) == await what_comes(fault)
    assert same is (changes[1] is None)


async def test_all_faults_mixed_leave_nothing_in_flight() -> None:
    async with server(fault=mix(3, evenly(0.9, QUICK))) as it:
        await asyncio.gather(
            *(take(it.base_url, str(i), n=2, stream=bool(i % 2)) for i in range(200))
        )
    assert it.in_flight == 0
    assert not [request for request in it.requests if request.abandoned]
    assert len({request.fault for request in it.requests}) > 30


async def test_faults_are_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with server(log=log, fault=mix(1, RATES)) as it:
        for i in range(20):
            await take(it.base_url, str(i))
        assert read_log(log) == it.requests
        assert len({request.fault for request in it.requests}) > 1


async def test_a_process_shows_the_faults_that_it_is_told(tmp_path: Path) -> None:
    options = ("--short", "--fault-rate", "1", "--fault", "http_503_empty", "--context", "50")
    with ServerProcess(tmp_path / "log", options) as it:
        assert (await take(it.base_url)).status == 503
        assert (await take(it.base_url, "x" * 400)).status == 400
        assert [request.fault for request in it.requests()] == ["http_503_empty", None]
