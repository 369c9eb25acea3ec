"""What a server tells about its limits, and how it refuses what exceeds them."""

import json
from typing import Any

import aiohttp
import pytest

from endpoints.faults import errors
from endpoints.protocol import Failure
from endpoints.reading import take
from endpoints.scripted import server

pytestmark = pytest.mark.anyio
PROMPT = "x" * 400  # 100 tokens


def error_of(taken: Any) -> dict[str, Any]:
    said = json.loads(taken.body)
    return dict(said.get("error") or said)


@pytest.mark.parametrize(
    ("wording", "parts"),
    [
        ("vllm", ["maximum context length is 150 tokens", "you requested 186 tokens (100 in"]),
        ("vllm_input", ["maximum context length is 150", "100 input tokens plus 86 'max_tokens'"]),
        ("vllm_max_tokens", ["max_tokens must be at least 1, got -36."]),
        ("llama.cpp", ["request (186 tokens) exceeds the available context size (150 tokens)"]),
        ("openai", ["maximum context length is 150 tokens", "resulted in 186 tokens"]),
        ("unhelpful", ["Bad request"]),
    ],
)
async def test_a_request_that_is_too_long_is_refused_in_each_wording(
    wording: str, parts: list[str]
) -> None:
    async with server(context=150, context_wording=wording) as it:
        for stream in (False, True):
            taken = await take(it.base_url, PROMPT, max_tokens=86, stream=stream)
            assert taken.status == 400
            message = error_of(taken)["message"]
            assert all(part in message for part in parts)
        assert (await take(it.base_url, PROMPT, max_tokens=50)).status == 200


async def test_the_refusals_carry_the_fields_of_their_servers() -> None:
    async with server(context=10) as it:
        assert error_of(await take(it.base_url, PROMPT))["type"] == "BadRequestError"
        it.change(context_wording="vllm_max_tokens")
        assert json.loads((await take(it.base_url, PROMPT)).body)["object"] == "error"
        it.change(context_wording="llama.cpp")
        said = error_of(await take(it.base_url, PROMPT))
        assert said["type"] == "exceed_context_size_error"
        assert (said["n_prompt_tokens"], said["n_ctx"]) == (100, 10)
        it.change(context_wording="openai")
        assert error_of(await take(it.base_url, PROMPT))["code"] == "context_length_exceeded"


async def test_prompt_and_reply_count_under_either_name() -> None:
    async with server(context=150) as it:
        for more, status in (
            ({}, 200),
            ({"max_tokens": 50}, 200),
            ({"max_tokens": 51}, 400),
            ({"max_completion_tokens": 50}, 200),
            ({"max_completion_tokens": 51}, 400),
            ({"max_completion_tokens": 50, "max_tokens": 900}, 200),
        ):
            assert (await take(it.base_url, PROMPT, **more)).status == status
        assert (await take(it.base_url, PROMPT * 2)).status == 400
        assert (await take(it.base_url, PROMPT[:200])).status == 200


async def test_a_fault_may_say_too_long_for_one_request() -> None:
    fault = errors.too_long("openai", context=99)
    async with server(fault=lambda request: None if request.attempt else fault) as it:
        assert (await take(it.base_url, PROMPT)).status == 400
        assert (await take(it.base_url, PROMPT)).status == 200
        assert [request.fault for request in it.requests] == ["too_long_openai", None]


async def test_the_list_of_models_tells_a_limit_fails_or_is_late() -> None:
    async with server() as it, aiohttp.ClientSession() as session:

        async def listed() -> tuple[int, Any]:
            async with session.get(f"{it.base_url}/models") as response:
                return response.status, await response.json()

        assert (await listed())[1]["data"][0]["max_model_len"] == 131_072
        it.change(max_model_len=None)
        assert "max_model_len" not in (await listed())[1]["data"][0]
        it.change(listing=Failure(status=500))
        assert (await listed())[0] == 500
        it.change(listing=None, listing_latency=60)
        with pytest.raises(TimeoutError):
            async with session.get(
                f"{it.base_url}/models", timeout=aiohttp.ClientTimeout(total=0.05)
            ):
                pass


async def test_tokens_are_counted_in_either_shape_or_not() -> None:
    async with server() as it, aiohttp.ClientSession() as session:

        async def counted(**body: Any) -> tuple[int, Any]:
            async with session.post(f"{it.url}/tokenize", json=body) as response:
                return response.status, await response.json()

        assert (await counted(prompt="x" * 9))[0] == 404
        it.change(tokenize=True)
        messages = [{"role": "user", "content": "x" * 9}]
        assert (await counted(messages=messages))[1]["count"] == 3
        assert (await counted(content="x" * 9))[0] == 400
        it.change(tokenize="llama.cpp")
        assert await counted(content="x" * 9) == (200, {"tokens": [0, 1, 2]})
        assert await counted(prompt="x" * 9) == (200, {"tokens": []})
        it.change(tokenize=Failure(status=500))
        assert (await counted(prompt="x"))[0] == 500
