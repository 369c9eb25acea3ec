"""What vLLM says where it can't serve a request."""

import httpx2
import pytest

from engines.api import (
    ASK,
    PLAIN,
    answered,
    chat,
    of_length,
    refused,
    tokenize,
)
from engines.process import CONTEXT, MODEL, VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]


def test_a_prompt_beyond_the_context_is_refused(client: httpx2.Client) -> None:
    error = refused(client, 400, messages=of_length(client, CONTEXT + 1), max_tokens=5, **PLAIN)
    assert error == {
        "message": f"This model's maximum context length is {CONTEXT} tokens. However, your prompt "
        f"contains at least {CONTEXT + 1} input tokens, which exceeds this limit even without any "
        "output tokens. Please reduce the length of the input prompt. "
        f"(parameter=input_tokens, value={CONTEXT + 1})",
        "type": "BadRequestError",
        "param": "input_tokens",
        "code": 400,
    }


def test_a_reply_that_would_leave_the_context_is_cut_there(client: httpx2.Client) -> None:
    messages = of_length(client, CONTEXT - 4)
    body = answered(client, messages=messages, max_tokens=500, ignore_eos=True, **PLAIN)
    assert body["usage"]["completion_tokens"] == 4
    assert body["choices"][0]["finish_reason"] == "length"


def test_more_tokens_than_the_context_has_are_refused(client: httpx2.Client) -> None:
    error = refused(client, 400, max_tokens=CONTEXT + 1, **PLAIN)
    assert error["message"].startswith(
        f"max_tokens={CONTEXT + 1} cannot be greater than max_model_len={CONTEXT}."
    )
    assert error["param"] == "max_tokens"


def test_a_stream_is_refused_as_a_plain_request_is(client: httpx2.Client) -> None:
    error = refused(client, 400, max_tokens=CONTEXT + 1, stream=True, **PLAIN)
    assert error == refused(client, 400, max_tokens=CONTEXT + 1, **PLAIN)


def test_an_unknown_model_is_not_found(client: httpx2.Client) -> None:
    error = refused(client, 404, model="other")
    assert error["type"] == "NotFoundError"
    assert error["message"] == f"The model `other` does not exist. Valid aliases: {MODEL}."


def test_an_unknown_field_is_passed_over(client: httpx2.Client) -> None:
    assert answered(client, max_tokens=1, no_such_field=1, **PLAIN)


def test_a_wrong_key_is_refused_where_v1_begins(engine: VllmServer) -> None:
    wrong = {"Authorization": "Bearer wrong"}
    with httpx2.Client(base_url=engine.url, headers=wrong, timeout=200) as client:
        for response in (client.get("/v1/models"), chat(client)):
            assert (response.status_code, response.json()) == (401, {"error": "Unauthorized"})
        assert client.get("/health").status_code == 200
        assert tokenize(client, ASK)["count"]
