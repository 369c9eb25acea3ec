"""Answers with status 200 that are no completion, or only half of one."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from endpoints.delivery import DONE, Answer, Event, Signal
from endpoints.fault import Fault
from endpoints.faults.errors import PAGE


def _cut(whole: bytes) -> tuple[bytes]:
    return (whole[: len(whole) // 2],)


def _half(answer: Answer) -> Answer:
    if not answer.streamed:
        return answer.with_bytes(_cut)
    # Its end, like those of whole events, so that a reader takes it for one.
    *before, last = answer.steps[:3]
    assert isinstance(last, bytes), "a stream has two events at least"
    return replace(answer, steps=(*before, _cut(last)[0] + b"\n\n", DONE))


def _instead(content_type: str, body: bytes) -> Fault:
    def answer(whole: Answer) -> Answer:
        return Answer(steps=(Signal.HEADERS, body), content_type=content_type)

    return Fault(name="instead", answer=answer)


def other_json(value: Any, name: str) -> Fault:
    """Send `value` in place of the completion, or as the only event of a stream."""

    def events(whole: list[Event]) -> Iterable[Event]:
        return [value, DONE]

    return Fault(name=name, body=lambda body: value, events=events)


def _with_choices(choices: object, name: str) -> Fault:
    def events(whole: list[Event]) -> Iterable[Event]:
        head = next((event for event in whole if isinstance(event, dict)), {})
        return [head | {"choices": choices}, DONE]

    return Fault(name=name, body=lambda body: body | {"choices": choices}, events=events)


HALF_JSON = Fault(name="half_json", answer=_half)
"""The body ends in the midst of its JSON, with a Content-Length that fits; of a stream, its
second event does."""
HTML = replace(_instead("text/html", PAGE.format("Welcome").encode()), name="html")
"""A page, as a wrong base_url finds it."""
MISLABELLED = replace(
    _instead("application/json", PAGE.format("Welcome").encode()), name="mislabelled"
)
"""A page that is said to be JSON."""
EMPTY = replace(_instead("application/json", b""), name="empty_body")
EMPTY_OBJECT = other_json({}, "empty_object")
EMPTY_LIST = other_json([], "empty_list")
JSON_NULL = other_json(None, "json_null")
NULL_CHOICES = _with_choices(None, "null_choices")
NO_CHOICES = _with_choices([], "no_choices")
