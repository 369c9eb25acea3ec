"""Streams that end early, come in another order, or are cut otherwise into writes."""

from typing import Any

import pytest

from endpoints.fault import Fault, combined
from endpoints.faults import streams
from endpoints.protocol import Request, ScriptedReply
from endpoints.reading import USAGE, contents, take
from endpoints.scripted import server

pytestmark = pytest.mark.anyio


def say(request: Request, choice: int) -> ScriptedReply:
    return ScriptedReply(text="één… " * (choice + 1), thinking="hm")


async def taken_with(fault: Fault | None, **more: Any) -> Any:
    async with server(script=say, fault=lambda request: fault, piece_chars=5) as it:
        asking = {"n": 3, "stream": True, "stream_options": USAGE, **more}
        return await take(it.base_url, **asking)


def order(taken: Any) -> list[int]:
    return [index for index, _, _ in contents(taken.chunks)]


def finished(taken: Any) -> list[int]:
    return [index for index, _, reason in contents(taken.chunks) if reason]


async def test_a_stream_ends_early_in_good_order() -> None:
    for done, tail in ((False, []), (True, ["[DONE]"])):
        taken = await taken_with(streams.ends_early(chunks=4, done=done))
        assert not taken.broken
        assert len(taken.chunks) == 4
        assert taken.events[4:] == tail
        assert not finished(taken)


async def test_the_reason_to_finish_is_missing_from_a_whole_text() -> None:
    good = await taken_with(None)
    taken = await taken_with(streams.WITHOUT_FINISH)
    assert [c.text for c in taken.choices] == [c.text for c in good.choices]
    assert not finished(taken)
    assert taken.events[-1] == "[DONE]"


async def test_the_closing_event_alone_is_missing() -> None:
    good = await taken_with(None)
    taken = await taken_with(streams.WITHOUT_DONE)
    assert good.events[-1] == "[DONE]"
    assert taken.chunks[-1]["usage"] == good.chunks[-1]["usage"]
    assert len(taken.events) == len(good.events) - 1
    assert not taken.broken


async def test_finish_and_usage_come_twice() -> None:
    assert finished(await taken_with(streams.DUPLICATE_FINISH)) == [0, 0, 1, 1, 2, 2]
    one, two = (await taken_with(streams.DUPLICATE_USAGE)).chunks[-2:]
    assert one == two
    assert one["usage"]["completion_tokens"]


async def test_usage_comes_before_the_last_delta() -> None:
    chunks = (await taken_with(streams.USAGE_FIRST)).chunks
    (place,) = [i for i, chunk in enumerate(chunks) if "usage" in chunk]
    after = contents(chunks[place + 1 :])
    assert any(delta.get("content") for _, delta, _ in after)
    assert after[-1][2] == "stop"


async def test_choices_come_in_turns_that_change_one_by_one_or_together() -> None:
    turning = order(await taken_with(streams.TURNING))
    assert turning[:9] == [0, 1, 2, 1, 2, 0, 2, 0, 1]
    sequence = await taken_with(streams.IN_SEQUENCE)
    assert order(sequence) == sorted(turning, reverse=True)
    assert finished(sequence) == [2, 1, 0]
    together = await taken_with(streams.TOGETHER)
    assert [len(chunk["choices"]) for chunk in together.chunks][:4] == [3, 3, 3, 3]


async def test_deltas_of_a_choice_come_after_another_has_finished() -> None:
    said = contents((await taken_with(streams.IN_SEQUENCE)).chunks)
    first_end = next(i for i, (_, _, reason) in enumerate(said) if reason)
    assert [delta for _, delta, _ in said[first_end + 1 :] if delta.get("content")]


async def test_thinking_and_text_come_in_one_delta() -> None:
    taken = await taken_with(streams.THINKING_WITH_CONTENT)
    both = [d for _, d, _ in contents(taken.chunks) if {"reasoning", "content"} <= d.keys()]
    assert both == [{"reasoning": "hm", "content": "één… "}] * 3
    assert taken.choices == (await taken_with(None)).choices


async def test_a_comment_comes_before_each_event() -> None:
    taken = await taken_with(streams.KEEP_ALIVE)
    assert taken.body.count(b": ping\n\n") == len(taken.events)
    assert taken.choices == (await taken_with(None)).choices


async def test_lines_end_in_cr_and_lf() -> None:
    taken = await taken_with(streams.CRLF)
    assert taken.body.count(b"\r\n\r\n") == len(taken.events)
    assert taken.body.replace(b"\r\n", b"").count(b"\n") == 0
    parted = await taken_with(combined(streams.CRLF, streams.split(1)))
    assert parted.choices == taken.choices


async def test_several_events_come_in_one_write() -> None:
    good = await taken_with(None)
    taken = await taken_with(streams.grouped(4))
    assert [piece.count(b"data: ") for piece in taken.pieces[:-1]] == [4] * (
        len(good.pieces) // 4 - (len(good.pieces) % 4 == 0)
    )
    assert taken.choices == good.choices


async def test_an_event_comes_in_several_writes_cut_within_a_character() -> None:
    taken = await taken_with(streams.split(1))
    assert {len(piece) for piece in taken.pieces} == {1}
    assert "é".encode() in taken.body
    assert "…".encode() in taken.body
    assert taken.choices == (await taken_with(None)).choices


async def test_a_plain_answer_has_no_fault_of_a_stream() -> None:
    async with server(fault=lambda request: streams.CRLF) as it:
        await take(it.base_url)
        await take(it.base_url, stream=True)
        assert [request.fault for request in it.requests] == [None, "crlf"]
