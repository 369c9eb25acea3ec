"""What holds whatever callers do: random calls, cancellations, refusals and other limits."""

import asyncio
import bisect
from dataclasses import dataclass

import virtual_time
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_time import now

from tmas_graph.models.limiter import Limiter

limits = st.none() | st.integers(1, 600)
times = st.floats(0, 20)


@dataclass(frozen=True)
class Plan:
    """One call: when it comes, how it ends."""

    comes: float
    lasts: float
    priority: int
    estimate: int
    spent: int
    cancelled_after: float | None
    retry_after: float | None
    outcome: str


plans = st.lists(
    st.builds(
        Plan,
        comes=times,
        lasts=times,
        priority=st.integers(-2, 2),
        estimate=st.integers(0, 300),
        spent=st.integers(0, 300),
        cancelled_after=st.none() | times,
        retry_after=st.none() | times,
        outcome=st.sampled_from(["succeeded", "refused", "failed"]),
    ),
    min_size=1,
    max_size=25,
)


async def carry_out(plan: Plan, shared: Limiter, most: int) -> float | None:
    """Make the call; when it started, None if it was cancelled before."""
    started = None

    async def call() -> None:
        nonlocal started
        async with shared.slot(plan.priority, plan.estimate) as slot:
            started = now()
            assert 1 <= shared.in_flight <= most
            assert 1 <= shared.allowed <= most
            await asyncio.sleep(plan.lasts)
            slot.spent(plan.spent)
            if plan.outcome == "succeeded":
                slot.succeeded()
            elif plan.outcome == "refused":
                slot.pushed_back(plan.retry_after)

    await asyncio.sleep(plan.comes)
    task = asyncio.create_task(call())
    if plan.cancelled_after is not None:
        asyncio.get_running_loop().call_later(plan.cancelled_after, task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
    return started


@given(plans, st.integers(1, 6), limits, limits, st.lists(st.tuples(limits, limits), max_size=3))
@settings(max_examples=150, deadline=None)
def test_every_call_ends_and_no_slot_is_lost(
    plans: list[Plan],
    most: int,
    requests: int | None,
    tokens: int | None,
    others: list[tuple[int | None, int | None]],
) -> None:
    async def main() -> None:
        shared = Limiter(most, requests_per_minute=requests, tokens_per_minute=tokens, clock=now)
        calls = [asyncio.create_task(carry_out(plan, shared, most)) for plan in plans]
        for other in others:
            await asyncio.sleep(5)
            shared.resize(most, *other)
        started = await asyncio.gather(*calls)
        for plan, at in zip(plans, started, strict=True):
            assert at is not None or plan.cancelled_after is not None
        assert (shared.in_flight, shared.waiting) == (0, 0)

    virtual_time.run(main())  # fails where somebody would wait for ever


@given(plans, st.integers(1, 600))
@settings(max_examples=100, deadline=None)
def test_no_window_holds_more_starts_than_the_bucket_gives(plans: list[Plan], limit: int) -> None:
    async def main() -> None:
        shared = Limiter(len(plans), requests_per_minute=limit, clock=now)
        calls = (carry_out(plan, shared, len(plans)) for plan in plans)
        starts = sorted(at for at in await asyncio.gather(*calls) if at is not None)
        for first, begin in enumerate(starts):
            for last, end in enumerate(starts[first:], first):
                room = max(1.0, limit / 6) + (end - begin) * limit / 60
                assert last - first + 1 <= room + 1e-6

    virtual_time.run(main())


@given(
    st.lists(st.tuples(times, st.integers(0, 500)), min_size=1, max_size=25), st.integers(6, 900)
)
@settings(max_examples=100, deadline=None)
def test_no_window_holds_more_tokens_than_the_bucket_gives_and_one_large_call(
    calls: list[tuple[float, int]], limit: int
) -> None:
    async def main() -> None:
        shared = Limiter(len(calls), tokens_per_minute=limit, clock=now)
        starts: list[tuple[float, int]] = []

        async def call(comes: float, tokens: int) -> None:
            await asyncio.sleep(comes)
            async with shared.slot(tokens=tokens):
                bisect.insort(starts, (now(), tokens))

        await asyncio.gather(*(call(*given) for given in calls))
        for first, (begin, _) in enumerate(starts):
            for last, (end, _) in enumerate(starts[first:], first):
                room = limit / 6 + (end - begin) * limit / 60
                window = [tokens for _, tokens in starts[first : last + 1]]
                assert sum(window) <= room + max(window) + 1e-6

    virtual_time.run(main())


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=40), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_who_waits_is_served_by_priority_then_arrival(priorities: list[int], most: int) -> None:
    async def main() -> None:
        shared = Limiter(most, clock=now)
        served: list[tuple[int, int]] = []

        async def call(index: int, priority: int) -> None:
            async with shared.slot(priority):
                served.append((priority, index))
                await asyncio.sleep(1)

        holders = [shared.slot() for _ in range(most)]
        for holder in holders:
            await holder.__aenter__()
        calls = [asyncio.create_task(call(*given)) for given in enumerate(priorities)]
        await asyncio.sleep(1)
        for holder in holders:
            await holder.__aexit__()
        await asyncio.gather(*calls)
        assert served == sorted(served)

    virtual_time.run(main())
