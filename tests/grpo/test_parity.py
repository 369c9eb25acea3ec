"""Server and trainer compared: equal, apart, and apart for a reason that can be named."""

import math
from collections.abc import AsyncIterator, Sequence

import pytest

from grpo.fake_vllm import MESSAGES, NAME, FakeVllm
from tmas_graph.errors import PolicyMismatch
from tmas_graph.grpo.parity import check, compare, gives_raw_logprobs
from tmas_graph.grpo.samples import Sample
from tmas_graph.grpo.sampling import Sampler, Sampling, Served
from tmas_graph.grpo.server import Patience, Server

pytestmark = pytest.mark.anyio
TEMPERATURE = 0.5


@pytest.fixture
async def sampler(fake: FakeVllm) -> AsyncIterator[Sampler]:
    async with Server(fake.url) as server:
        sampling = Sampling(temperature=TEMPERATURE)
        yield Sampler(server, Served(NAME, 7), sampling, patience=Patience(20.0, attempts=1))


def trainer(prompt_ids: Sequence[int], completion_ids: Sequence[int]) -> list[float]:
    """The fake's policy, at the temperature of sampling."""
    return [-1.0 / TEMPERATURE] * len(completion_ids)


async def test_the_same_policy_passes(sampler: Sampler) -> None:
    parity = await check(sampler, MESSAGES, trainer)
    assert parity.difference == parity.mean_difference == 0.0
    assert parity.tokens >= 2


async def test_another_policy_stops_with_both_numbers(fake: FakeVllm, sampler: Sampler) -> None:
    fake.weight = 1.25  # as after a push that was lost
    said = (
        r"version 7 at .*: token 0 of sample 0 has the log-probability -2\.500000 at the server "
        r"and -2\.000000 at the trainer; they differ by 0\.500000, the bound is 0\.001 .*next 0:1"
        r".*the trainer's weights"
    )
    with pytest.raises(PolicyMismatch, match=said) as caught:
        await check(sampler, MESSAGES, trainer)
    assert caught.value.difference == 0.5
    assert (await check(sampler, MESSAGES, trainer, bound=0.6)).difference == 0.5


async def test_raw_logprobs_are_told_from_other_weights(fake: FakeVllm, sampler: Sampler) -> None:
    fake.raw = True
    with pytest.raises(PolicyMismatch, match="--logprobs-mode processed_logprobs"):
        await check(sampler, MESSAGES, trainer)
    assert await gives_raw_logprobs(sampler, MESSAGES)
    fake.raw = False
    assert not await gives_raw_logprobs(sampler, MESSAGES)


def sample(*logprobs: float) -> Sample:
    return Sample((1,), tuple(range(len(logprobs))), logprobs)


def test_the_largest_difference_is_named_first() -> None:
    own = {3: [-1.0, -2.0, -3.0], 2: [-1.0, -5.0]}
    parity = compare(
        [sample(-1.0, -2.5, -3.0), sample(-1.125, -4.0)],
        lambda prompt_ids, completion_ids: own[len(completion_ids)],
    )
    assert (parity.tokens, parity.difference, parity.mean_difference) == (5, 1.0, 0.325)
    assert parity.positions[:3] == ((1, 1), (0, 1), (1, 0))
    assert (parity.server, parity.trainer) == (-4.0, -5.0)


def test_a_trainer_without_numbers_does_not_pass() -> None:
    parity = compare([sample(-1.0, -2.0)], lambda prompt_ids, ids: [-9.0, math.nan])
    assert math.isnan(parity.difference)
    assert parity.positions[0] == (0, 1)
    assert not parity.difference <= 1e-3
