"""How vLLM gives thinking and text apart, and how a text is continued."""

from typing import Any

import httpx2
import pytest

from engines.api import ASK, PLAIN, Json, answered, refused, tokenize

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

THINK: dict[str, Any] = {"thinking_token_budget": 6, "max_tokens": 24, "min_tokens": 24}
"""Six tokens of thinking, then the server itself ends it, and some text follows."""
GO_ON = {"continue_final_message": True, "add_generation_prompt": False, "temperature": 0}


def after(start: str) -> list[Json]:
    """A conversation in which a reply has been begun."""
    return [*ASK, {"role": "assistant", "content": start}]


def test_thinking_is_in_a_field_of_its_own(client: httpx2.Client) -> None:
    body = answered(client, seed=1, **THINK)
    message = body["choices"][0]["message"]
    assert message["reasoning"]
    assert message["content"]
    assert "</think>" not in message["reasoning"] + message["content"]
    assert "reasoning_content" not in message
    assert 0 < body["usage"]["completion_tokens_details"]["reasoning_tokens"] < 24


def test_without_thinking_the_field_is_null(client: httpx2.Client) -> None:
    [choice] = answered(client, max_tokens=8, temperature=0, **PLAIN)["choices"]
    assert choice["message"]["reasoning"] is None
    assert choice["message"]["content"]


def test_a_text_that_was_begun_is_continued(client: httpx2.Client) -> None:
    messages = after("6*7 is 6 times")
    body = answered(client, messages=messages, max_tokens=8, **GO_ON, **PLAIN)
    text = body["choices"][0]["message"]["content"]
    assert text.startswith(" ")
    assert "6 times" not in text
    count = tokenize(
        client, messages, continue_final_message=True, add_generation_prompt=False, **PLAIN
    )["count"]
    assert count == body["usage"]["prompt_tokens"]


def test_text_after_thinking_that_was_closed_comes_back_as_thinking(
    client: httpx2.Client,
) -> None:
    """The parser sees the continuation only, and no end of thinking in it."""
    messages = after("<think>\nSix times seven.\n</think>\n\nThe answer")
    request: Json = {"messages": messages, "max_tokens": 8, "min_tokens": 8, **GO_ON}
    thought = answered(client, **request)["choices"][0]["message"]
    said = answered(client, **request, **PLAIN)["choices"][0]["message"]
    assert thought["content"] is None
    assert thought["reasoning"]
    assert said["reasoning"] is None
    assert said["content"]


def test_a_text_is_continued_or_begun_but_not_both(client: httpx2.Client) -> None:
    error = refused(client, 400, messages=after("6*7"), continue_final_message=True)
    assert "continue_final_message and add_generation_prompt are not compatible" in error["message"]
