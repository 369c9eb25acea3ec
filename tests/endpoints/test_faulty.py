"""The connection: what comes, and what does not, when it is late, hangs or breaks off."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from endpoints import scripted
from endpoints.delivery import Place
from endpoints.fault import Fault, combined
from endpoints.faults import connection, errors, streams
from endpoints.faults.catalogue import HARMLESS
from endpoints.reading import USAGE, asked, pieces_of, question, take
from endpoints.scripted import ScriptedServer, server

pytestmark = pytest.mark.anyio
BOTH_FORMS = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


class Watched(ScriptedServer):
    """Lets a test wait for a change of a request."""

    async def until(self, true: Callable[[], bool]) -> None:
        async with self.changes:
            await self.changes.wait_for(true)

    async def start(self) -> None:
        self.changes = asyncio.Condition()
        self.telling: set[asyncio.Task[None]] = set()
        await super().start()

    def _update(self, index: int, **changes: Any) -> None:
        super()._update(index, **changes)
        self.telling.add(asyncio.create_task(self._tell()))

    async def _tell(self) -> None:
        async with self.changes:
            self.changes.notify_all()


def faulty(fault: Fault, **more: Any) -> Watched:
    return Watched(replace(scripted.DEFAULT, fault=lambda request: fault, **more))


class Door:
    """A gate that tells when someone waits at it, and that a test opens."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.opened.wait()


@BOTH_FORMS
async def test_no_byte_comes_before_a_gate_opens(stream: bool) -> None:
    door = Door()
    async with faulty(connection.held(door)) as it:
        call = asyncio.create_task(take(it.base_url, stream=stream))
        await door.reached.wait()
        assert (it.requests[0].fault, it.requests[0].status) == ("held_before_headers", None)
        assert not call.done()
        door.opened.set()
        taken = await call
        assert not taken.broken
        assert taken.choices[0].finish_reason == "stop"


@BOTH_FORMS
async def test_a_part_comes_before_a_gate_opens_midway(stream: bool) -> None:
    door = Door()
    async with (
        faulty(connection.held(door, "midway", chunks=3), piece_chars=50) as it,
        asked(it.base_url, question(stream=stream)) as response,
    ):
        pieces = pieces_of(response)
        await door.reached.wait()
        early = [await anext(pieces) for _ in range(3 if stream else 1)]
        assert it.requests[0].status == 200
        assert it.requests[0].time_answered is None
        following = asyncio.ensure_future(anext(pieces))
        door.opened.set()
        rest = [await following, *[piece async for piece in pieces]]
        assert all(early)
        assert rest[-1].endswith(b"data: [DONE]\n\n" if stream else b"}")


async def test_a_late_answer_takes_its_time() -> None:
    async with faulty(connection.late(0.1)) as it:
        await take(it.base_url)
        await it.until(lambda: bool(it.requests[0].time_answered))
        assert (it.requests[0].time_answered or 0) - it.requests[0].time_received >= 0.09


async def test_a_paced_stream_waits_before_each_chunk() -> None:
    waits = 0

    async def gate() -> None:
        nonlocal waits
        waits += 1

    async with faulty(connection.paced(gate)) as it:
        assert len((await take(it.base_url, stream=True)).pieces) == waits
        plain = await take(it.base_url)
        assert plain.choices
        assert [request.fault for request in it.requests] == ["paced", None]


async def test_a_slow_stream_takes_its_time_for_each_chunk() -> None:
    async with faulty(connection.slow(0.02)) as it:
        taken = await take(it.base_url, stream=True)
        await it.until(lambda: bool(it.requests[0].time_answered))
        seconds = (it.requests[0].time_answered or 0) - it.requests[0].time_received
        assert seconds >= 0.9 * 0.02 * len(taken.pieces)


@BOTH_FORMS
@pytest.mark.parametrize("where", connection.PLACES)
async def test_a_hang_lasts_until_the_client_leaves(where: Place, stream: bool) -> None:
    async with faulty(connection.hang(where)) as it:
        call = asyncio.create_task(take(it.base_url, stream=stream))
        started = None if where == "before_headers" else 200
        await it.until(lambda: bool(it.requests and it.requests[0].fault))
        await it.until(lambda: it.requests[0].status == started)
        call.cancel()
        await it.until(lambda: it.requests[0].abandoned)
        assert it.requests[0].time_answered is None
        assert it.requests[0].fault == f"hang_{where}"


@pytest.mark.parametrize("where", connection.PLACES)
async def test_a_hang_ends_when_the_server_stops(where: Place) -> None:
    async with faulty(connection.hang(where, chunks=1)) as it:
        call = asyncio.create_task(take(it.base_url, stream=True))
        await it.until(lambda: bool(it.requests and it.requests[0].fault))
    assert (await call).broken
    assert it.requests[0].abandoned
    assert it.in_flight == 0


async def test_a_stream_that_hangs_midway_has_sent_so_many_events() -> None:
    async with (
        faulty(connection.hang("midway", chunks=3), piece_chars=50) as it,
        asked(it.base_url, question(stream=True)) as response,
    ):
        pieces = pieces_of(response)
        assert all([(await anext(pieces)).startswith(b"data: {") for _ in range(3)])
        assert it.requests[0].time_answered is None
        assert it.in_flight == 1


@BOTH_FORMS
async def test_a_connection_is_dropped_before_headers(stream: bool) -> None:
    async with faulty(connection.drop()) as it:
        taken = await take(it.base_url, stream=stream)
        assert (taken.status, taken.broken) == (None, True)
        request = it.requests[0]
        assert (request.fault, request.status) == ("drop_before_headers", None)
        assert (request.time_answered, request.abandoned) == (None, False)
        it.change(fault=None)
        assert (await take(it.base_url, stream=stream)).status == 200


@BOTH_FORMS
async def test_a_connection_is_dropped_after_headers(stream: bool) -> None:
    async with faulty(connection.drop("after_headers")) as it:
        taken = await take(it.base_url, stream=stream)
        assert (taken.status, taken.body, taken.broken) == (200, b"", True)
        assert (it.requests[0].status, it.requests[0].time_answered) == (200, None)


async def test_a_connection_is_dropped_in_the_midst_of_a_body() -> None:
    async with server() as it:
        whole = await take(it.base_url)
        it.change(fault=lambda request: connection.drop("midway"))
        half = await take(it.base_url)
        assert half.broken
        assert half.headers["Content-Length"] == whole.headers["Content-Length"]
        assert len(half.body) == len(whole.body) // 2


async def test_a_connection_is_dropped_between_events_or_within_one() -> None:
    async with faulty(connection.drop("midway", chunks=2)) as it:
        taken = await take(it.base_url, stream=True)
        assert taken.broken
        assert len(taken.chunks) == 2
        within = combined(streams.split(10), connection.drop("midway", chunks=2))
        it.change(fault=lambda request: within)
        taken = await take(it.base_url, stream=True)
        assert taken.broken
        assert [len(piece) for piece in taken.pieces] == [10, 10]
        assert it.requests[1].fault == "split_10+drop_midway"


@BOTH_FORMS
@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.name)
async def test_a_reader_of_the_protocol_gets_the_whole_answer_in_spite_of_harmless_faults(
    fault: Fault, stream: bool
) -> None:
    assert fault.harmless
    asking: dict[str, Any] = {"n": 3, "seed": 4, "stream": stream, "stream_options": USAGE}
    async with server(piece_chars=300) as it:
        good = await take(it.base_url, **asking)
        it.change(fault=lambda request: fault)
        taken = await take(it.base_url, **asking)
        assert [c.said() for c in taken.choices] == [c.said() for c in good.choices]
        assert not taken.broken
        assert it.requests[1].fault == (fault.name if fault.fits(it.requests[1]) else None)


async def test_refusals_come_before_faults_and_failures_too() -> None:
    async with faulty(errors.http(503), key="right") as it:
        assert (await take(it.base_url)).status == 401
        it.change(key=None, fail=lambda request: 500)
        assert (await take(it.base_url)).status == 500
        assert (await take(it.base_url, model="other")).status == 404
        assert [request.fault for request in it.requests] == [None, "http_500", None]


async def test_faults_are_set_per_request() -> None:
    def fault(request: Any) -> Fault | None:
        return errors.http(500) if request.attempt == 0 and "bad" in request.text else None

    async with server(fault=fault) as it:
        statuses = [(await take(it.base_url, text)).status for text in ("good", "bad", "bad")]
        assert statuses == [200, 500, 200]
