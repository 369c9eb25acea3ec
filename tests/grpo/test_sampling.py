"""Groups as a server gives them, and answers that can't be trained on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from grpo.fake_vllm import MESSAGES, NAME, FakeVllm
from tmas_graph.errors import EndpointDown, RequestRefused, SettingsError
from tmas_graph.grpo.samples import Group
from tmas_graph.grpo.sampling import CHAT, Sampler, Sampling, Served
from tmas_graph.grpo.server import Patience, Server

pytestmark = pytest.mark.anyio
QUICK = Patience(20.0, attempts=3, pause=0.001)


async def drawn(fake: FakeVllm, served: Served | None = None, **how: Any) -> Group:
    async with Server(fake.url) as server:
        sampler = Sampler(
            server, served or Served(NAME), Sampling(group_size=3, **how), patience=QUICK
        )
        return await sampler.group(MESSAGES, seed=7)


async def test_a_group_is_read(fake: FakeVllm) -> None:
    group = await drawn(fake, Served(NAME, version=4), temperature=0.5)
    assert [sample.seed for sample in group] == [7, 8, 9]
    for sample in group:
        assert sample.prompt_ids == (1, 2, 3)
        assert sample.text == " ".join(map(str, sample.completion_ids))
        assert sample.sampler_logprobs == (-2.0,) * len(sample.completion_ids)
        assert (sample.version, sample.finish_reason, sample.truncated) == (4, "stop", False)


async def test_nothing_is_left_to_the_servers_defaults(fake: FakeVllm) -> None:
    await drawn(fake, temperature=0.5, max_tokens=9, template={"enable_thinking": False})
    [(path, body)] = fake.asked
    assert path == CHAT
    assert body == {
        "model": NAME,
        "messages": list(MESSAGES),
        "n": 3,
        "seed": 7,
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "repetition_penalty": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "logprobs": True,
        "top_logprobs": 0,
        "return_token_ids": True,
        "skip_special_tokens": False,
        "stream": False,
        "chat_template_kwargs": {"enable_thinking": False},
    }


async def test_choices_are_put_in_order(fake: FakeVllm) -> None:
    straight = await drawn(fake)
    fake.fail(CHAT, lambda body: {**body, "choices": body["choices"][::-1]})
    assert await drawn(fake) == straight


def with_first(**changes: Any) -> Callable[[Any], Any]:
    """Change the first choice of an answer."""

    def change(body: Any) -> Any:
        first, *others = body["choices"]
        return {**body, "choices": [{**first, **changes}, *others]}

    return change


async def test_the_finish_reason_decides_truncation(fake: FakeVllm) -> None:
    fake.fail(CHAT, with_first(finish_reason="length"))
    assert [sample.truncated for sample in await drawn(fake)] == [True, False, False]


def of(*logprobs: Any) -> dict[str, Any]:
    return {"content": [{"logprob": value} for value in logprobs]}


@pytest.mark.parametrize(
    "fault",
    [
        with_first(finish_reason="abort"),
        with_first(finish_reason=None),
        with_first(token_ids=[1], logprobs=of(-9999.0)),
        with_first(token_ids=[1, 2], logprobs=of(-1.0, None)),
        lambda body: {"object": "error"},
    ],
)
async def test_what_came_out_wrong_once_is_drawn_again(fake: FakeVllm, fault: Any) -> None:
    expected = await drawn(fake)
    fake.fail(CHAT, fault, "drop")
    assert await drawn(fake) == expected
    fake.fail(CHAT, fault, fault, fault)
    with pytest.raises(EndpointDown, match="in attempt 3 of 3"):
        await drawn(fake)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lambda body: {"choices": body["choices"]}, '"prompt_token_ids" is None'),
        (with_first(token_ids=None), '"token_ids" is None'),
        (with_first(logprobs=None), "choice 0 has no logprobs"),
        (with_first(token_ids=[1, 2], logprobs=of(-1.0)), "1 logprobs for 2 tokens"),
        (lambda body: {**body, "choices": body["choices"][1:]}, "2 choices for n = 3"),
    ],
)
async def test_an_unfit_server_is_told_from_a_failing_one(
    fake: FakeVllm, fault: Any, said: str
) -> None:
    fake.fail(CHAT, fault)
    with pytest.raises(SettingsError, match=rf"{said}.*`tmas train serve MODEL`"):
        await drawn(fake)
    assert len(fake.asked) == 1


async def test_an_unknown_policy_is_refused(fake: FakeVllm) -> None:
    with pytest.raises(RequestRefused, match="no such model"):
        await drawn(fake, Served("another"))


async def test_one_limiter_holds_for_all(fake: FakeVllm) -> None:
    fake.held = asyncio.Event()
    async with Server(fake.url) as server:
        sampler = Sampler(server, Served(NAME), Sampling(), concurrency=2, patience=QUICK)
        tasks = [asyncio.create_task(sampler.group(MESSAGES, seed)) for seed in range(6)]
        await fake.arrived(2)
        for _ in range(50):  # as many turns as a third request would need
            await asyncio.sleep(0)
        assert len(fake.asked) == 2
        sampler.served = Served(NAME, version=1)
        fake.held.set()
        groups = await asyncio.gather(*tasks)
    # The version is that of the moment when a group could be asked for.
    assert [group[0].version for group in groups] == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    "how", [{"temperature": 0.0}, {"temperature": float("nan")}, {"max_tokens": 0}]
)
def test_sampling_that_cannot_be_trained_on_is_refused(how: Any) -> None:
    with pytest.raises(SettingsError, match="sampling: "):
        Sampling(**how)
