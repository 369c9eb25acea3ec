import json
import random
from typing import Any

import pytest

from tmas_graph.models.completion import Completion
from tmas_graph.models.events import Events, decoded
from tmas_graph.models.faults import Fault
from tmas_graph.models.replies import Reply, reply_of


def streamed(*events: Any) -> Completion:
    completion = Completion(streamed=True)
    for event in events:
        completion.take(event)
    return completion


def plain(body: Any) -> Completion:
    completion = Completion()
    completion.take(body)
    completion.ended()
    return completion


def replies(completion: Completion) -> list[Reply]:
    return [reply_of(choice) for _, choice in sorted(completion.choices.items())]


def delta(index: int, reason: str | None = None, **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": said, "finish_reason": reason}]}


def message(*, reason: Any = "stop", **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": said, "finish_reason": reason}]}


@pytest.mark.parametrize("seed", range(20))
def test_choices_may_be_streamed_in_any_interleaving(seed: int) -> None:
    draw = random.Random(seed)
    queues = [
        [delta(i, role="assistant", content="")]
        + [delta(i, reasoning=f"{i}{piece}") for piece in "abc"]
        + [delta(i, content=f"{i}{piece}") for piece in "defg"]
        + [delta(i, "stop")]
        for i in range(4)
    ]
    events = []
    while any(queues):
        events.append(draw.choice([queue for queue in queues if queue]).pop(0))
    completion = streamed(*events)
    completion.ended()
    assert [(r.thinking, r.text) for r in replies(completion)] == [
        ("".join(f"{i}{p}" for p in "abc"), "".join(f"{i}{p}" for p in "defg")) for i in range(4)
    ]


def test_an_event_may_hold_all_choices_and_both_kinds_of_text() -> None:
    both = {"reasoning": "end", "content": "begin"}
    choices = [{"index": i, "delta": both, "finish_reason": "stop"} for i in (1, 0)]
    assert replies(streamed({"choices": choices})) == 2 * [Reply("begin", "end")]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_thinking_has_two_names(name: str) -> None:
    assert replies(plain(message(content="x", **{name: "t"}))) == [Reply("x", "t")]


def test_thinking_under_both_names_counts_once() -> None:
    assert replies(plain(message(content="x", reasoning="t", reasoning_content="t"))) == [
        Reply("x", "t")
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "image"}, "x", {"text": None}], ""),
        (7, ""),
    ],
)
def test_content_may_be_missing_or_in_parts(content: Any, text: str) -> None:
    [reply] = replies(plain(message(content=content)))
    assert (reply.text, reply.ending) == (text, "whole" if text else "empty")


def test_a_message_without_content_is_empty() -> None:
    assert replies(plain(message()))[0].ending == "empty"


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("stop", "whole"),
        (None, "whole"),
        ("eos", "whole"),
        ("length", "truncated"),
        ("max_tokens", "truncated"),
        ("MAX_TOKENS", "truncated"),
        ("model_length", "truncated"),
        ("content_filter", "filtered"),
        ("SAFETY", "filtered"),
    ],
)
def test_how_a_reply_ended_is_told_from_any_servers_words(reason: Any, ending: str) -> None:
    assert replies(plain(message(reason=reason, content="x")))[0].ending == ending


@pytest.mark.parametrize("reason", ["abort", "error", "insufficient_system_resource"])
def test_what_the_server_gave_up_is_no_reply(reason: str) -> None:
    with pytest.raises(Fault, match="the server gave the reply up") as caught:
        plain(message(reason=reason, content="x = "))
    assert caught.value.again
    assert caught.value.worked_on
    assert caught.value.received == 4


def test_of_several_replies_those_that_the_server_gave_up_may_be_some() -> None:
    completion = streamed(delta(0, "stop", content="a"), delta(1, "abort", content="b"))
    completion.ended()
    assert [choice.given_up for choice in completion.choices.values()] == [False, True]


def test_a_refusal_is_apart_from_the_text() -> None:
    [reply] = replies(plain(message(content=None, refusal="I can't.")))
    assert (reply.text, reply.refusal, reply.ending) == ("", "I can't.", "refused")
    [reply] = replies(streamed(delta(0, refusal="I "), delta(0, "stop", refusal="can't.")))
    assert reply.refusal == "I can't."


def test_choices_that_are_all_called_0_are_kept_apart() -> None:
    body = {"choices": [message(content=text)["choices"][0] for text in "abc"]}
    assert [r.text for r in replies(plain(body))] == ["a", "b", "c"]


def test_choices_come_by_index() -> None:
    body = {
        "choices": [
            message(content=t)["choices"][0] | {"index": i} for i, t in [(1, "b"), (0, "a")]
        ]
    }
    assert [r.text for r in replies(plain(body))] == ["a", "b"]


def test_the_served_model_and_usage_are_kept_wherever_they_come() -> None:
    usage = {"prompt_tokens": 3}
    completion = streamed({"model": "m", "choices": [], "usage": usage}, delta(0, "stop"))
    assert (completion.model, completion.usage) == ("m", usage)
    assert plain(message(content="x") | {"model": None, "usage": None}).usage == {}


BODIES: list[Any] = [[], None, 7, "text", {}, {"choices": None}, {"choices": []}]
BODIES += [{"choices": 3}, {"choices": [None]}, {"choices": [{"index": 0}]}]
BODIES += [{"choices": [{"message": "x"}]}, {"choices": [{"text": "of another API"}]}]


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_what_is_no_completion_is_malformed(body: Any) -> None:
    with pytest.raises(Fault) as caught:
        plain(body)
    assert (caught.value.kind, caught.value.again) == ("malformed", True)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"error": {"message": "no", "code": 503}}, 503, "no"),
        ({"error": {"message": "no", "code": "404"}}, 404, "no"),
        ({"error": {"message": "no", "type": "BadRequestError", "code": None}}, 400, "no"),
        ({"error": "it broke"}, 500, "it broke"),
        ({"object": "error", "message": "no", "code": 400}, 400, "no"),
        ({"error": {"code": 7}}, 500, "an error"),
        ({"error": {"code": "9" * 5000}}, 500, "an error"),
        ({"error": ["x"]}, 500, "an error"),
    ],
)
def test_an_error_in_the_midst_is_an_error(body: Any, status: int, said: str) -> None:
    with pytest.raises(Fault) as caught:
        streamed(delta(0, content="12345"), body)
    assert (caught.value.status, caught.value.said, caught.value.received) == (status, said, 5)
    assert caught.value.worked_on


def test_a_stream_without_the_end_of_each_choice_is_broken() -> None:
    completion = streamed(delta(0, content="a"), delta(1, content="b"), delta(0, "stop"))
    with pytest.raises(Fault, match="ended before") as caught:
        completion.ended()
    assert (caught.value.kind, caught.value.received) == ("broken", 2)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_are_read_from_pieces_of_any_size(size: int, end: str) -> None:
    said = [{"a": "ü😀"}, {"b": 2}]
    lines = [": ping", "", f"data: {json.dumps(said[0], ensure_ascii=False)}", ""]
    lines += ["event: x", "data: {", 'data:"b": 2}', "", "data:", "", "data: [DONE]", "", ""]
    raw = end.join(lines).encode()
    events = Events()
    pieces = (raw[begin : begin + size] for begin in range(0, len(raw), size))
    assert [event for piece in pieces for event in events.feed(piece)] == said
    assert events.done
    assert list(events.close()) == []


def test_a_last_event_without_its_end_is_read() -> None:
    events = Events()
    assert list(events.feed(b'data: {"a": 1}')) == []
    assert list(events.close()) == [{"a": 1}]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "broken"),
        (b' {"choices": [{"ind', "broken"),
        (b"[" * 200_000, "broken"),
        (b"<html>", "foreign"),
        (b"\n <!DOCTYPE html>", "foreign"),
        (b"Not Found", "malformed"),
        (b"\xff\xfe", "malformed"),
        (b"1" * 5000, "malformed"),
    ],
)
def test_what_is_no_json_says_what_it_may_be(data: bytes, kind: str) -> None:
    with pytest.raises(Fault) as caught:
        decoded(data)
    assert caught.value.kind == kind
    assert len(caught.value.said) < 400


def test_an_event_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tmas_graph.models.events._LONGEST_LINE", 100)
    with pytest.raises(Fault, match="more than 100 bytes"):
        list(Events().feed(b"x" * 101))
