"""Batches that are drawn ahead: their order, their versions, and what is dropped."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from grpo.fake_vllm import NAME, FakeVllm
from tmas_graph.errors import EndpointDown, RequestRefused, SettingsError
from tmas_graph.grpo.producing import Produced, Producer
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.sampling import CHAT, Sampler, Sampling, Served
from tmas_graph.grpo.server import Patience, Server

pytestmark = pytest.mark.anyio


def prompt_of(index: int) -> Sequence[Message]:
    return ({"role": "user", "content": f"problem {index}"},)


@pytest.fixture
async def sampler(fake: FakeVllm) -> AsyncIterator[Sampler]:
    async with Server(fake.url) as server:
        patience = Patience(20.0, attempts=1)
        yield Sampler(server, Served(NAME), Sampling(group_size=2), patience=patience)


def versions(batch: Sequence[Produced]) -> list[tuple[int, int]]:
    return [(one.index, one.group[0].version) for one in batch]


async def trained(sampler: Sampler, producer: Producer, fake: FakeVllm, steps: int) -> Any:
    """Take a batch of two, and push, `steps` times."""
    batches = []
    for step in range(steps):
        batches.append(versions(await producer.take(2)))
        if producer._staleness:
            await fake.arrived(2 * (step + 2))
        sampler.served = Served(NAME, step + 1)
    return batches


async def test_the_next_batch_is_drawn_while_the_trainer_learns(
    fake: FakeVllm, sampler: Sampler
) -> None:
    async with Producer(sampler, prompt_of) as producer:
        batches = await trained(sampler, producer, fake, 3)
    assert batches == [[(0, 0), (1, 0)], [(2, 0), (3, 0)], [(4, 1), (5, 1)]]
    assert producer.counts.stale == 0
    assert len(fake.asked) == 8  # not more than one batch ahead


async def test_without_staleness_all_is_of_the_trainers_version(
    fake: FakeVllm, sampler: Sampler
) -> None:
    async with Producer(sampler, prompt_of, staleness=0) as producer:
        batches = await trained(sampler, producer, fake, 3)
    assert batches == [[(0, 0), (1, 0)], [(2, 1), (3, 1)], [(4, 2), (5, 2)]]
    assert len(fake.asked) == 6


async def test_what_is_too_old_is_dropped_counted_and_drawn_anew(
    fake: FakeVllm, sampler: Sampler
) -> None:
    async with Producer(sampler, prompt_of) as producer:
        await producer.take(2)
        sampler.served = Served(NAME, 2)  # two pushes without a batch between
        first = {str(body["messages"]): body["seed"] for _, body in fake.asked}
        assert versions(await producer.take(2)) == [(2, 2), (3, 2)]
        assert producer.counts.stale == 2
        again = {str(body["messages"]): body["seed"] for _, body in fake.asked}
        assert first.items() <= again.items()  # with the seeds that they had


async def test_seeds_of_neighbours_do_not_overlap(fake: FakeVllm, sampler: Sampler) -> None:
    async with Producer(sampler, prompt_of, start=3, seed=1) as producer:
        batch = await producer.take(3)
    seeds = [sample.seed for one in batch for sample in one.group]
    assert seeds == [2**40 + member for member in range(6, 12)]


async def test_groups_come_in_the_order_of_prompts(fake: FakeVllm, sampler: Sampler) -> None:
    slow = asyncio.Event()
    fake.fail(CHAT, slow)
    async with Producer(sampler, prompt_of) as producer:
        taking = asyncio.create_task(producer.take(2))
        await fake.arrived(4)
        assert not taking.done()
        slow.set()
        assert [one.index for one in await taking] == [0, 1]
        assert producer.consumed == 2


async def test_a_producer_goes_on_where_another_ended(fake: FakeVllm, sampler: Sampler) -> None:
    async with Producer(sampler, prompt_of) as whole:
        expected = [*await whole.take(2), *await whole.take(2)]
    async with Producer(sampler, prompt_of) as first:
        begun = await first.take(2)
    async with Producer(sampler, prompt_of, start=first.consumed) as second:
        assert [*begun, *await second.take(2)] == expected


async def test_a_refused_prompt_is_left_out_and_counted(fake: FakeVllm, sampler: Sampler) -> None:
    fake.fail(CHAT, 400)
    async with Producer(sampler, prompt_of) as producer:
        batch = await producer.take(2)
        assert producer.counts.refused == 1
        assert producer.consumed == batch[-1].index + 1 == 3


async def test_a_server_that_refuses_all_ends_it(fake: FakeVllm, sampler: Sampler) -> None:
    fake.fail(CHAT, *[400] * 20)
    async with Producer(sampler, prompt_of) as producer:
        with pytest.raises(RequestRefused, match="scripted"):
            await producer.take(2)


async def test_a_policy_that_is_gone_ends_it_at_once(fake: FakeVllm, sampler: Sampler) -> None:
    sampler.served = Served("gone")
    async with Producer(sampler, prompt_of) as producer:
        with pytest.raises(RequestRefused, match="no such model"):
            await producer.take(2)


async def test_a_server_that_fails_can_be_asked_again(fake: FakeVllm, sampler: Sampler) -> None:
    fake.fail(CHAT, 500)
    async with Producer(sampler, prompt_of, staleness=0) as producer:
        with pytest.raises(EndpointDown):
            await producer.take(2)
        assert [one.index for one in await producer.take(2)] == [0, 1]


async def test_leaving_gives_up_what_is_in_flight(fake: FakeVllm, sampler: Sampler) -> None:
    fake.held = asyncio.Event()
    async with Producer(sampler, prompt_of) as producer:
        taking = asyncio.create_task(producer.take(2))
        await fake.arrived(4)
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
    coroutines = [task.get_coro() for task in asyncio.all_tasks()]
    assert "Sampler.group" not in [getattr(one, "__qualname__", "") for one in coroutines]
    fake.held.set()


async def test_staleness_beyond_one_is_refused(sampler: Sampler) -> None:
    with pytest.raises(SettingsError, match="staleness is 2"):
        Producer(sampler, prompt_of, staleness=2)
