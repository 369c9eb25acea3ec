from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from endpoints.behaviour import Behaviour
from endpoints.protocol import Request
from endpoints.refusals import refusal
from hypothesis import given
from hypothesis import strategies as st

from tmas_graph.errors import EndpointDown, RequestRefused
from tmas_graph.models import retrying
from tmas_graph.models.faults import Fault, of_response
from tmas_graph.models.retrying import wait_for
from tmas_graph.models.served import explained

AT = "http://x/v1"


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_statuses_that_may_pass(status: int) -> None:
    fault = Fault.of_status(status, "busy")
    assert (fault.again, fault.worked_on) == (True, False)
    assert isinstance(explained(fault, AT), EndpointDown)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 410, 413, 422, 501, 505])
def test_statuses_that_are_for_good(status: int) -> None:
    fault = Fault.of_status(status, "no")
    assert not fault.again
    assert isinstance(explained(fault, AT), RequestRefused)


def test_a_spent_quota_is_not_a_busy_server() -> None:
    body = b'{"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}'
    assert not of_response(429, {}, body).again


@pytest.mark.parametrize(
    "wording", ["vllm", "vllm_input", "vllm_max_tokens", "llama.cpp", "openai"]
)
@pytest.mark.parametrize("reply", [0, 500])
def test_a_context_error_is_known_in_every_servers_words(wording: Any, reply: int) -> None:
    messages = ({"role": "user", "content": "x" * 800},)
    body = {"model": "scripted", "max_tokens": reply}
    request = Request(index=0, attempt=0, time_received=0, headers={}, body=body, messages=messages)
    behaviour = Behaviour(script=lambda r, c: "", context=100, context_wording=wording)
    failure = refusal(request, behaviour)
    assert failure is not None
    assert failure.body is not None
    assert of_response(failure.status, {}, failure.body.encode()).kind == "context"


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 1024 tokens. However, your prompt contains at "
        "least 1025 input tokens, which exceeds this limit even without any output tokens.",
        "max_tokens=2000 cannot be greater than max_model_len=1024.",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "Input validation error: input tokens exceed the limit",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "Requested token count exceeds the model's maximum context length of 4096 tokens.",
    ],
)
def test_other_words_for_too_long(said: str) -> None:
    assert Fault.of_status(400, said).kind == "context"


@pytest.mark.parametrize(
    "said",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
        "temperature must be non-negative, got -1.0.",
        "Only one completion choice is allowed.",
        "Bad Request",
    ],
)
def test_refusals_that_are_not_about_length(said: str) -> None:
    assert Fault.of_status(400, said).kind == "no"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2.5"}, 2.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "nan"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "9"}, 9),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert of_response(429, headers, b"").retry_after == seconds


def test_the_wait_may_be_a_date() -> None:
    at = datetime.now(UTC) + timedelta(hours=1)
    wait = of_response(429, {"retry-after": format_datetime(at, usegmt=True)}, b"").retry_after
    assert wait is not None
    assert 3500 < wait <= 3600


@given(st.text(max_size=40), st.binary(max_size=200), st.integers(400, 599))
def test_no_header_and_no_body_is_too_odd(header: str, body: bytes, status: int) -> None:
    fault = of_response(status, {"retry-after": header}, body)
    text = str(explained(fault, AT))
    assert "\n" not in text
    assert text.isprintable()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "a\\nb"}}', "a b"),
        (b'{"error": "a"}', "a"),
        (b'{"message": "a"}', "a"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"detail": [{"msg": "a"}]}', "[{'msg': 'a'}]"),
        (b"<!doctype html><html>a</html>", "an HTML page"),
        (b"  a  ", "a"),
        (b"", ""),
        (b"[" * 100_000, "[" * 300),
        (b"\x1b[31mred", "[31mred"),
    ],
)
def test_what_a_server_says_becomes_one_line(body: bytes, said: str) -> None:
    assert of_response(400, {}, body).without("").said == said


def test_a_secret_is_left_out_of_what_the_server_says() -> None:
    assert Fault("no", "wrong key s3cret").without("s3cret").said == "wrong key …"
    assert Fault("no", "wrong key").without("").said == "wrong key"


def test_waits_grow_and_are_bounded_and_spread() -> None:
    waits = [retrying.backoff(attempt) for attempt in range(1, 12)]
    assert all(0.5 <= wait <= 60 for wait in waits)
    assert waits[0] <= 1.0 < waits[6]
    assert len({retrying.backoff(3) for _ in range(5)}) > 1


def test_a_wait_that_was_asked_for_is_never_shortened() -> None:
    fault = Fault("busy", "busy", retry_after=3.0)
    assert all(3.0 <= wait_for(fault, 1, 100.0) <= 3.3 for _ in range(20))


def test_a_wait_past_the_deadline_fails_at_once() -> None:
    with pytest.raises(Fault, match="asks to wait 90 s, and 10 s are left"):
        wait_for(Fault("busy", "slow down", retry_after=90.0), 1, 10.0)
    with pytest.raises(Fault, match=r"^busy$"):
        wait_for(Fault("busy", "busy"), 9, 1.0)
