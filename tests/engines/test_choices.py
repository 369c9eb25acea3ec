"""What vLLM says of choices, seeds, tokens and their counts."""

import httpx2
import pytest

from engines.api import (
    ASK,
    PLAIN,
    Json,
    answered,
    joined,
    metric,
    streamed,
    streaming,
    texts,
    tokenize,
)
from engines.process import CONTEXT, MODEL

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

THREE: Json = {"n": 3, "max_tokens": 4, "min_tokens": 4, "seed": 5, **PLAIN}


def prompt(word: str) -> list[Json]:
    """A prompt of a few hundred tokens that no other test sends."""
    return [{"role": "user", "content": f"{word} " * 300}]


def test_usage_is_the_total_of_all_choices(client: httpx2.Client) -> None:
    body = answered(client, **THREE)
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert body["usage"]["completion_tokens"] == 12
    assert body["usage"]["prompt_tokens"] == tokenize(client, ASK, **PLAIN)["count"]


def test_usage_ends_a_stream_that_asks_for_it(client: httpx2.Client) -> None:
    *chunks, last = streamed(client, stream_options={"include_usage": True}, **THREE)
    assert last["choices"] == []
    assert last["usage"] == answered(client, **THREE)["usage"] | {
        "prompt_tokens_details": last["usage"]["prompt_tokens_details"]
    }
    assert not any("usage" in chunk for chunk in chunks)


def test_a_stream_that_does_not_ask_has_no_usage(client: httpx2.Client) -> None:
    assert not any("usage" in chunk for chunk in streamed(client, **THREE))


def test_streamed_choices_are_those_of_the_plain_reply(client: httpx2.Client) -> None:
    chunks = streamed(client, **THREE)
    plain = [choice["message"]["content"] for choice in answered(client, **THREE)["choices"]]
    assert [joined(chunks, index, "content") for index in range(3)] == plain
    ends = [c["finish_reason"] for chunk in chunks for c in chunk["choices"]]
    assert [end for end in ends if end] == ["length"] * 3


def test_a_choice_has_the_seed_of_its_index(client: httpx2.Client) -> None:
    request: Json = {"max_tokens": 12, "min_tokens": 12, "temperature": 1.0}
    together = texts(client, n=4, seed=100, **request)
    assert len(set(together)) > 1
    alone = [texts(client, seed=seed, **request)[0] for seed in range(100, 104)]
    assert together == alone


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


def test_tokens_are_counted_as_the_model_gets_them(client: httpx2.Client) -> None:
    counted = tokenize(client, ASK)
    assert counted["max_model_len"] == CONTEXT
    assert counted["count"] == len(counted["tokens"])
    assert counted["count"] == answered(client, max_tokens=1)["usage"]["prompt_tokens"]
    assert client.post("/v1/tokenize", json={"messages": ASK}).status_code == 404


def test_the_list_of_models_says_the_context(client: httpx2.Client) -> None:
    [model] = client.get("/v1/models").json()["data"]
    assert (model["id"], model["max_model_len"]) == (MODEL, CONTEXT)


def test_a_prompt_that_was_seen_is_counted_as_cached(client: httpx2.Client) -> None:
    usages = [
        answered(client, messages=prompt("sea"), max_tokens=1, **PLAIN)["usage"] for _ in range(2)
    ]
    cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    assert cached[0] == 0
    assert 0 < cached[1] < usages[1]["prompt_tokens"]


def test_a_reply_is_given_up_when_its_connection_closes(client: httpx2.Client) -> None:
    before = metric(client, "vllm:generation_tokens_total")
    with streaming(client, max_tokens=900, min_tokens=900) as events:
        next(events)
        next(events)
        assert metric(client, "vllm:num_requests_running") == 1
    while metric(client, "vllm:num_requests_running"):
        pass
    assert metric(client, "vllm:generation_tokens_total") - before < 900
