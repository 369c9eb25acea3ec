"""Bodies that are no completion, and errors in each form."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from endpoints.fault import Fault
from endpoints.faults import bodies, errors, streams
from endpoints.reading import USAGE, take
from endpoints.scripted import server

pytestmark = pytest.mark.anyio
BOTH_FORMS = pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])


async def taken_with(fault: Fault, **more: Any) -> Any:
    async with server(fault=lambda request: fault) as it:
        taken = await take(it.base_url, **more)
        assert it.requests[0].fault == fault.name
        assert not taken.broken
        return taken


async def test_half_of_the_json_comes_with_a_length_that_fits() -> None:
    async with server() as it:
        whole = await take(it.base_url, seed=1)
        it.change(fault=lambda request: bodies.HALF_JSON)
        half = await take(it.base_url, seed=1)
        assert half.status == 200
        assert half.headers["Content-Length"] == str(len(half.body)) == str(len(whole.body) // 2)
        assert half.headers["Content-Type"].startswith("application/json")
        with pytest.raises(json.JSONDecodeError):
            json.loads(half.body)


async def test_half_of_an_event_comes_in_a_stream() -> None:
    taken = await taken_with(bodies.HALF_JSON, stream=True)
    first, second, done = taken.events
    assert json.loads(first)
    with pytest.raises(json.JSONDecodeError):
        json.loads(second)
    assert done == "[DONE]"


@BOTH_FORMS
@pytest.mark.parametrize(
    ("fault", "content_type"),
    [(bodies.HTML, "text/html"), (bodies.MISLABELLED, "application/json")],
    ids=["html", "mislabelled"],
)
async def test_a_page_comes_with_status_200(fault: Fault, content_type: str, stream: bool) -> None:
    taken = await taken_with(fault, stream=stream)
    assert taken.status == 200
    assert taken.headers["Content-Type"].startswith(content_type)
    assert taken.body.startswith(b"<!DOCTYPE html>")


@BOTH_FORMS
async def test_a_body_may_be_empty(stream: bool) -> None:
    taken = await taken_with(bodies.EMPTY, stream=stream)
    assert (taken.status, taken.body, taken.headers["Content-Length"]) == (200, b"", "0")


@pytest.mark.parametrize(
    ("fault", "value"),
    [(bodies.EMPTY_OBJECT, {}), (bodies.EMPTY_LIST, []), (bodies.JSON_NULL, None)],
    ids=["object", "list", "null"],
)
async def test_json_may_be_no_completion(fault: Fault, value: object) -> None:
    assert json.loads((await taken_with(fault)).body) == value
    assert (await taken_with(fault, stream=True)).events == [json.dumps(value), "[DONE]"]


@pytest.mark.parametrize(
    ("fault", "choices"),
    [(bodies.NULL_CHOICES, None), (bodies.NO_CHOICES, [])],
    ids=["null", "none"],
)
async def test_a_completion_may_have_no_choices(fault: Fault, choices: object) -> None:
    plain = json.loads((await taken_with(fault)).body)
    assert (plain["object"], plain["choices"]) == ("chat.completion", choices)
    (chunk,) = (await taken_with(fault, stream=True)).chunks
    assert (chunk["object"], chunk["choices"]) == ("chat.completion.chunk", choices)


@BOTH_FORMS
@pytest.mark.parametrize("status", [400, 403, 404, 408, 422, 429, 500, 502, 503])
async def test_a_status_comes_in_the_shape_of_openai(status: int, stream: bool) -> None:
    taken = await taken_with(errors.http(status), stream=stream)
    assert taken.status == status
    assert "Retry-After" not in taken.headers
    assert json.loads(taken.body)["error"].keys() == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    ("form", "content_type", "body"),
    [
        ("text", "text/plain", b"Bad Gateway"),
        ("html", "text/html", b"<!DOCTYPE html>"),
        ("empty", "text/plain", b""),
    ],
)
async def test_an_error_comes_in_other_forms(form: Any, content_type: str, body: bytes) -> None:
    taken = await taken_with(errors.http(502, form=form))
    assert taken.status == 502
    assert taken.headers["Content-Type"].startswith(content_type)
    assert taken.body.startswith(body)
    assert bool(taken.body) is bool(body)


@pytest.mark.parametrize(
    ("after", "sent"),
    [
        (0, "0"),
        (2.5, "2.5"),
        (30, "30"),
        (datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC), "Wed, 02 Jan 2030 03:04:05 GMT"),
        (
            datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            "Wed, 02 Jan 2030 01:04:05 GMT",
        ),
    ],
)
async def test_retry_after_comes_in_seconds_or_as_a_date(after: Any, sent: str) -> None:
    taken = await taken_with(errors.http(429, retry_after=after))
    assert (taken.status, taken.headers["Retry-After"]) == (429, sent)


@pytest.mark.parametrize(("code", "kind"), [(500, "InternalServerError"), (400, "BadRequestError")])
async def test_an_error_comes_as_an_event_in_mid_stream(code: Any, kind: str) -> None:
    taken = await taken_with(errors.error_event(code, chunks=2), stream=True)
    assert taken.status == 200
    assert taken.events[-1] == "[DONE]"
    *before, error = taken.chunks
    assert len(before) == 2
    assert (error["error"]["code"], error["error"]["type"]) == (code, kind)
    plain = await taken_with(errors.error_body(code))
    assert (plain.status, json.loads(plain.body)) == (200, error)


@BOTH_FORMS
async def test_the_form_of_an_answer_may_be_the_other_one(stream: bool) -> None:
    fault = streams.NEVER if stream else streams.ALWAYS
    asking: dict[str, Any] = {"n": 2, "seed": 3, "stream_options": USAGE}
    async with server(fault=lambda request: fault) as it:
        other = await take(it.base_url, stream=stream, **asking)
        it.change(fault=None)
        good = await take(it.base_url, stream=not stream, **asking)
        assert other.choices == good.choices
        assert other.headers["Content-Type"] == good.headers["Content-Type"]
        assert other.headers["Content-Type"].startswith("application/json") is stream
