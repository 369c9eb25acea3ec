"""The rules of one limiter, in one loop and in virtual time."""

import asyncio

import pytest
import virtual_time
from calls_in_flight import begun, limiter, settle
from virtual_time import now

from tmas_graph.models.limiter import Limiter


def test_a_free_slot_is_taken_without_a_pause() -> None:
    slot = Limiter(1).slot()
    with pytest.raises(StopIteration) as entered:
        slot.__aenter__().send(None)
    assert entered.value.value is slot


def test_no_more_than_most_are_in_flight() -> None:
    async def main() -> None:
        calls = await begun(limiter(2), *"abc")
        assert (calls.started, calls.limiter.in_flight) == (["a", "b"], 2)
        assert calls.limiter.waiting == 1
        await calls.end("a")
        assert (calls.started, calls.limiter.waiting) == (["a", "b", "c"], 0)
        await calls.end_all()

    virtual_time.run(main())


def test_lower_priority_numbers_go_first_and_equals_in_order_of_arrival() -> None:
    async def main() -> None:
        calls = await begun(limiter(1), "first")
        for name, priority in [("a", 0), ("b", -1), ("c", 0), ("d", -2), ("e", -1)]:
            calls.begin(name, priority)
        await settle()
        for name in ["first", "d", "b", "e", "a"]:
            await calls.end(name)
        assert calls.started == ["first", "d", "b", "e", "a", "c"]
        await calls.end_all()

    virtual_time.run(main())


def test_a_body_that_raises_hands_its_slot_on() -> None:
    async def main() -> None:
        shared = limiter(1)
        with pytest.raises(KeyError):
            async with shared.slot():
                raise KeyError("body")
        assert shared.in_flight == 0

    virtual_time.run(main())


def test_a_slot_serves_once() -> None:
    async def main() -> None:
        async with limiter(2).slot() as slot:
            with pytest.raises(AssertionError, match="serves once"):
                await slot.__aenter__()

    virtual_time.run(main())


def test_one_burst_of_refusals_is_one_shrink() -> None:
    async def main() -> None:
        calls = await begun(limiter(800), *map(str, range(800)))
        for slot in calls.slots.values():
            slot.pushed_back(None)
        assert calls.limiter.allowed == 400
        await calls.end_all()
        later = await begun(calls.limiter, *map(str, range(400)))
        for slot in list(later.slots.values())[:2]:
            slot.pushed_back(None)
        assert calls.limiter.allowed == 200
        await later.end_all()

    virtual_time.run(main())


def test_where_few_are_in_flight_half_of_those_are_allowed() -> None:
    """An endpoint that has enough of 20 calls is helped by no limit above 20."""

    async def main() -> None:
        calls = await begun(limiter(800), *map(str, range(20)))
        calls.slots["0"].pushed_back(None)
        assert calls.limiter.allowed == 10
        await calls.end_all()

    virtual_time.run(main())


def test_one_call_stays_allowed_however_often_the_endpoint_pushes_back() -> None:
    async def main() -> None:
        shared = limiter(4)
        for _ in range(5):
            async with shared.slot() as slot:
                slot.pushed_back(None)
        assert shared.allowed == 1

    virtual_time.run(main())


def test_as_many_answers_as_are_allowed_raise_the_number_by_a_sixteenth_of_most() -> None:
    async def main() -> None:
        calls = await begun(limiter(64), *map(str, range(64)))
        calls.slots["0"].pushed_back(None)
        await calls.end_all()
        shared = calls.limiter
        async with shared.slot() as slot:
            for allowed in [32, 36, 40, 44, 48, 52, 56, 60]:
                for _ in range(allowed):
                    assert shared.allowed == allowed
                    slot.succeeded()
            for _ in range(100):
                slot.succeeded()
        assert shared.allowed == 64

    virtual_time.run(main())


def test_after_a_shrink_nobody_starts_until_enough_have_left() -> None:
    async def main() -> None:
        calls = await begun(limiter(4), *"abcde")
        calls.slots["a"].pushed_back(None)
        await calls.end("a", "b")
        assert calls.started == [*"abcd"]
        await calls.end("c")
        assert calls.started == [*"abcde"]
        await calls.end_all()

    virtual_time.run(main())


def test_growth_wakes_who_waits() -> None:
    async def main() -> None:
        calls = await begun(limiter(2), "a")
        calls.slots["a"].pushed_back(None)
        calls.begin("b")
        await settle()
        assert calls.started == ["a"]
        calls.slots["a"].succeeded()
        await settle()
        assert calls.started == ["a", "b"]
        await calls.end_all()

    virtual_time.run(main())


def test_a_pause_holds_everybody_and_then_ends_by_itself() -> None:
    async def main() -> None:
        shared = limiter(8)
        began = now()
        async with shared.slot() as slot:
            slot.pushed_back(30.0)
            slot.pushed_back(5.0)  # a shorter one doesn't cut it
        assert shared.paused_for == 30.0
        calls = await begun(shared, *"abc")
        assert calls.started == []
        await calls.end_all()
        assert calls.started == [*"abc"]
        assert calls.times[0] - began == pytest.approx(30.0, abs=0.001)
        assert shared.paused_for == 0.0

    virtual_time.run(main())


def test_a_pause_that_grows_while_calls_wait_holds_them_longer() -> None:
    async def main() -> None:
        calls = await begun(limiter(8), "a")
        began = now()
        calls.slots["a"].pushed_back(10.0)
        calls.begin("b")
        await asyncio.sleep(5)
        calls.slots["a"].pushed_back(20.0)
        await calls.end_all()
        assert calls.times[1] - began == pytest.approx(25.0, abs=0.001)

    virtual_time.run(main())


def test_requests_start_at_the_rate_after_ten_seconds_worth() -> None:
    async def main() -> None:
        began = now()
        calls = await begun(limiter(100, requests_per_minute=60), *map(str, range(15)))
        assert len(calls.started) == 10
        await calls.end_all()
        after = [at - began for at in calls.times[10:]]
        assert after == pytest.approx([1, 2, 3, 4, 5], abs=0.001)

    virtual_time.run(main())


def test_a_rate_below_one_in_ten_seconds_still_lets_one_call_go() -> None:
    async def main() -> None:
        began = now()
        calls = await begun(limiter(9, requests_per_minute=1), *"ab")
        await calls.end_all()
        assert [at - began for at in calls.times] == pytest.approx([0, 60], abs=0.001)

    virtual_time.run(main())


def test_a_call_larger_than_the_bucket_goes_once_it_is_full_and_leaves_a_debt() -> None:
    async def main() -> None:
        began = now()
        shared = limiter(9, tokens_per_minute=600)  # 10 a second, the bucket holds 100
        calls = await begun(shared, "small", tokens=50)
        calls.begin("huge", tokens=1000)
        calls.begin("next", tokens=100)
        await calls.end_all()
        assert calls.started == ["small", "huge", "next"]
        assert [at - began for at in calls.times] == pytest.approx([0, 5, 105], abs=0.001)

    virtual_time.run(main())


def test_a_small_call_does_not_overtake_a_large_one_that_waits_for_tokens() -> None:
    async def main() -> None:
        calls = await begun(limiter(9, tokens_per_minute=600), "first", tokens=60)
        calls.begin("large", tokens=90)
        calls.begin("small", tokens=1)
        await settle()
        assert calls.started == ["first"]
        await calls.end_all()
        assert calls.started == ["first", "large", "small"]

    virtual_time.run(main())


def test_a_more_urgent_call_that_fits_goes_before_one_that_waits_for_tokens() -> None:
    async def main() -> None:
        calls = await begun(limiter(9, tokens_per_minute=600), "first", tokens=60)
        calls.begin("large", tokens=90)
        calls.begin("urgent", priority=-1, tokens=1)
        await settle()
        assert calls.started == ["first", "urgent"]
        await calls.end_all()

    virtual_time.run(main())


@pytest.mark.parametrize(("spent", "wait"), [(0, 0.0), (50, 0.0), (100, 5.0), (300, 25.0)])
def test_what_a_call_really_cost_moves_the_next_one(spent: int, wait: float) -> None:
    async def main() -> None:
        began = now()
        calls = await begun(limiter(9, tokens_per_minute=600), "a", tokens=100)
        calls.begin("b", tokens=50)
        await settle()
        calls.slots["a"].spent(400)
        calls.slots["a"].spent(spent)  # the last word counts
        await calls.end_all()
        assert calls.times[1] - began == pytest.approx(wait, abs=0.001)

    virtual_time.run(main())


def test_a_call_that_cost_less_wakes_who_waits_for_its_tokens() -> None:
    async def main() -> None:
        calls = await begun(limiter(9, tokens_per_minute=600), *"ab", tokens=100)
        calls.slots["a"].spent(0)
        await settle()
        assert calls.started == ["a", "b"]
        await calls.end_all()

    virtual_time.run(main())


def test_resize_wakes_who_fits_and_leaves_calls_in_flight_alone() -> None:
    async def main() -> None:
        calls = await begun(limiter(1), *"abcd")
        calls.limiter.resize(3, None, None)
        await settle()
        assert (calls.started, calls.limiter.allowed) == ([*"abc"], 3)
        calls.limiter.resize(1, None, None)
        assert (calls.limiter.in_flight, calls.limiter.allowed) == (3, 1)
        await calls.end("a", "b")
        assert calls.started == [*"abc"]
        await calls.end_all()

    virtual_time.run(main())


def test_resize_does_not_forget_that_the_endpoint_pushed_back() -> None:
    async def main() -> None:
        calls = await begun(limiter(8), *"abcdefgh")
        calls.slots["a"].pushed_back(None)
        calls.limiter.resize(16, None, None)
        assert calls.limiter.allowed == 4
        calls.limiter.resize(2, None, None)
        assert calls.limiter.allowed == 2
        await calls.end_all()

    virtual_time.run(main())


@pytest.mark.parametrize(("per_minute", "wait"), [(None, 0.0), (1200, 2.5), (300, 10.0)])
def test_resize_keeps_a_debt_and_pays_it_at_the_other_rate(
    per_minute: int | None, wait: float
) -> None:
    async def main() -> None:
        began = now()
        calls = await begun(limiter(9, tokens_per_minute=600), "a", tokens=150)
        calls.begin("b", tokens=0)
        await settle()
        calls.limiter.resize(9, None, per_minute)
        await calls.end_all()
        assert calls.times[1] - began == pytest.approx(wait, abs=0.001)

    virtual_time.run(main())


def test_a_call_from_before_there_was_a_limit_is_not_paid_back() -> None:
    async def main() -> None:
        calls = await begun(limiter(9), "a", tokens=1000)
        calls.limiter.resize(9, None, 600)
        calls.begin("b", tokens=100)
        calls.begin("c", tokens=100)
        await settle()
        calls.slots["a"].spent(0)
        await settle()
        assert calls.started == ["a", "b"]
        await calls.end_all()

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ((0, None, None), "most"),
        ((1, 0, None), "requests_per_minute"),
        ((1, None, -5), "tokens_per_minute"),
    ],
)
def test_a_limit_that_lets_nothing_start_is_refused(
    limits: tuple[int, int | None, int | None], name: str
) -> None:
    shared = Limiter(3)
    with pytest.raises(ValueError, match=f"^{name}: a limit of"):
        shared.resize(*limits)
    assert shared.allowed == 3
