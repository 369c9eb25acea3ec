"""What vLLM says of choices, their ends and their tokens."""

import httpx2
import pytest

from engines.api import PLAIN, Json, answered, joined, streamed, texts

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

THREE: Json = {"n": 3, "max_tokens": 4, "min_tokens": 4, "seed": 5, **PLAIN}


def test_streamed_choices_are_those_of_the_plain_reply(client: httpx2.Client) -> None:
    chunks = streamed(client, **THREE)
    plain = [choice["message"]["content"] for choice in answered(client, **THREE)["choices"]]
    assert [joined(chunks, index, "content") for index in range(3)] == plain
    ends = [c["finish_reason"] for chunk in chunks for c in chunk["choices"]]
    assert [end for end in ends if end] == ["length"] * 3


def test_without_a_seed_replies_differ(client: httpx2.Client) -> None:
    request: Json = {"max_tokens": 24, "min_tokens": 24, "temperature": 1.0}
    assert len({*texts(client, n=2, **request), *texts(client, **request)}) == 3


def test_a_stop_and_a_limit_are_told_apart(client: httpx2.Client) -> None:
    request: Json = {"max_tokens": 8, "temperature": 0, **PLAIN}
    [limited] = answered(client, **request)["choices"]
    first = limited["message"]["content"].split()[1]
    [stopped] = answered(client, stop=[first], **request)["choices"]
    assert limited["finish_reason"] == "length"
    assert (stopped["finish_reason"], stopped["stop_reason"]) == ("stop", first)
    assert first not in stopped["message"]["content"]


def test_logprobs_are_of_every_token(client: httpx2.Client) -> None:
    body = answered(client, logprobs=True, top_logprobs=2, max_tokens=4, temperature=0, **PLAIN)
    [choice] = body["choices"]
    tokens = choice["logprobs"]["content"]
    assert len(tokens) == body["usage"]["completion_tokens"] == 4
    assert "".join(token["token"] for token in tokens) == choice["message"]["content"]
    assert all(token["logprob"] <= 0 and len(token["top_logprobs"]) == 2 for token in tokens)
