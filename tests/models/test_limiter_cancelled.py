"""Cancellation at any moment, and loops and threads that come and go: no slot is lost."""

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any

import pytest
import virtual_time
from calls_in_flight import begun, limiter, settle
from virtual_time import now

from tmas_graph.models.limiter import Limiter


def test_a_waiter_that_is_cancelled_leaves_the_line() -> None:
    async def main() -> None:
        calls = await begun(limiter(1), *"abc")
        calls.tasks["b"].cancel()
        await settle()
        assert calls.limiter.waiting == 1
        await calls.end("a")
        assert calls.started == ["a", "c"]
        await calls.end_all()

    virtual_time.run(main())


def test_a_waiter_cancelled_between_its_grant_and_its_turn_hands_the_slot_on() -> None:
    async def main() -> None:
        shared = limiter(1, requests_per_minute=12, tokens_per_minute=600)  # 2 calls, 100 tokens
        began = now()
        holder = shared.slot(tokens=0)
        await holder.__aenter__()
        calls = await begun(shared, "b", tokens=100)
        calls.begin("c", tokens=100)
        await settle()
        await holder.__aexit__()
        assert (shared.in_flight, calls.started) == (1, [])  # granted, not resumed
        calls.tasks["b"].cancel()
        await settle()
        assert (calls.started, calls.times) == (["c"], [began])  # with b's share of both limits
        await calls.end_all()

    virtual_time.run(main())


def test_a_grant_that_meets_a_cancelled_waiter_goes_to_the_next() -> None:
    async def main() -> None:
        shared = limiter(1)
        holder = shared.slot()
        await holder.__aenter__()
        calls = await begun(shared, *"bc")
        calls.tasks["b"].cancel()
        await holder.__aexit__()  # b's future is cancelled; b hasn't run yet
        await settle()
        assert calls.started == ["c"]
        await calls.end_all()

    virtual_time.run(main())


def test_a_call_that_is_cancelled_in_flight_hands_its_slot_on() -> None:
    async def main() -> None:
        calls = await begun(limiter(1), *"ab")
        calls.tasks["a"].cancel()
        await settle()
        assert calls.started == ["a", "b"]
        await calls.end_all()

    virtual_time.run(main())


def test_a_cancelled_first_in_line_no_longer_holds_up_those_who_fit() -> None:
    async def main() -> None:
        calls = await begun(limiter(9, tokens_per_minute=600), "first", tokens=60)
        calls.begin("large", tokens=90)
        calls.begin("small", tokens=1)
        await settle()
        calls.tasks["large"].cancel()
        await settle()
        assert calls.started == ["first", "small"]
        await calls.end_all()

    virtual_time.run(main())


def test_thousands_who_give_up_leave_no_heap_behind() -> None:
    async def main() -> None:
        shared = limiter(1)
        async with shared.slot():
            last = await begun(shared, "last", priority=-1)
            for _ in range(20):
                calls = await begun(shared, *map(str, range(100)))
                for task in calls.tasks.values():
                    task.cancel()
                await settle()
            assert shared.waiting == 1
            assert len(shared._line._heap) < 100
        await last.end_all()

    virtual_time.run(main())


def test_a_task_collected_on_the_thread_that_holds_the_lock_leaves_its_slot() -> None:
    async def main() -> None:
        shared = limiter(1)
        entered = shared.slot()

        async def body() -> None:
            async with entered:
                await asyncio.Event().wait()

        coroutine = body()
        coroutine.send(None)
        calls = await begun(shared, "next")
        with shared._lock:
            coroutine.close()  # as the garbage collector does
        await settle()
        assert calls.started == ["next"]
        await calls.end_all()

    virtual_time.run(main())


def test_a_slot_left_while_slots_are_given_is_given_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        shared = limiter(1)
        calls = await begun(shared, *"ab")
        give, leaving = shared._admit_first, [calls.slots["a"]]

        def give_then_leave() -> None:
            give()
            while leaving:
                shared._leave(leaving.pop())

        monkeypatch.setattr(shared, "_admit_first", give_then_leave)
        shared.resize(1, None, None)
        await settle()
        assert calls.started == ["a", "b"]
        await calls.end_all()

    virtual_time.run(main())


def in_thread(main: Callable[[], Coroutine[Any, Any, None]]) -> threading.Thread:
    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    return thread


def test_two_loops_in_two_threads_share_one_limiter() -> None:
    shared = Limiter(3)
    lock, inside, most, done = threading.Lock(), 0, 0, 0

    async def call() -> None:
        nonlocal inside, most, done
        async with shared.slot():
            with lock:
                inside += 1
                most = max(most, inside)
            for _ in range(3):
                await asyncio.sleep(0)
            with lock:
                inside -= 1
                done += 1

    async def main() -> None:
        await asyncio.gather(*(call() for _ in range(300)))

    for thread in [in_thread(main), in_thread(main)]:
        thread.join()
    assert (most, done, shared.in_flight, shared.waiting) == (3, 600, 0, 0)


def test_a_waiter_is_woken_by_a_thread_that_runs_no_loop() -> None:
    async def main() -> None:
        shared = Limiter(1)
        holder = shared.slot()
        await holder.__aenter__()
        waiting = asyncio.create_task(shared.slot().__aenter__())
        await settle()
        await asyncio.to_thread(shared.resize, 2, None, None)
        await waiting
        assert shared.in_flight == 2

    asyncio.run(main())


def wait_in(loop: asyncio.AbstractEventLoop, shared: Limiter, **call: int) -> asyncio.Task[None]:
    """Leave a call waiting in `loop`, which stops."""

    async def body() -> None:
        async with shared.slot(**call):
            await asyncio.Event().wait()

    task = loop.create_task(body())
    task.set_name("forgotten")
    loop.run_until_complete(settle())
    return task


@pytest.mark.parametrize("moment", ["before the grant", "at the grant", "after it"])
def test_a_loop_that_is_closed_with_a_waiter_does_not_stop_the_others(
    moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = Limiter(1)

    async def others() -> None:
        async with shared.slot():
            pass

    with closing(asyncio.new_event_loop()) as loop:
        holder = shared.slot()
        loop.run_until_complete(holder.__aenter__())
        lost = asyncio.new_event_loop()
        errors: list[str] = []
        lost.set_exception_handler(lambda _, context: errors.append(context["message"]))
        task = wait_in(lost, shared, priority=-1)
        if moment != "after it":
            lost.close()
        if moment == "at the grant":
            monkeypatch.setattr(lost, "is_closed", lambda: False)
        loop.run_until_complete(holder.__aexit__())
        assert shared.in_flight == (moment == "after it")
        monkeypatch.undo()
        lost.close()
        del task
        gc.collect()  # ends the task that was granted a slot and could never run
        loop.run_until_complete(others())
    assert (shared.in_flight, shared.waiting) == (0, 0)
    assert errors == ["Task was destroyed but it is pending!"]


def test_a_large_call_of_a_closed_loop_no_longer_holds_up_those_who_fit() -> None:
    shared = Limiter(9, tokens_per_minute=600, clock=lambda: 0.0)
    with closing(asyncio.new_event_loop()) as loop:
        loop.run_until_complete(shared.slot(tokens=60).__aenter__())
        lost = asyncio.new_event_loop()
        lost.set_exception_handler(lambda _, context: None)
        task = wait_in(lost, shared, tokens=90)
        lost.close()
        loop.run_until_complete(shared.slot(tokens=1).__aenter__())
        del task
        gc.collect()
    assert (shared.in_flight, shared.waiting) == (2, 0)


def test_the_end_of_a_pause_reaches_one_loop_though_another_was_closed() -> None:
    shared = Limiter(2)

    async def refused() -> None:
        async with shared.slot() as slot:
            slot.pushed_back(0.05)

    async def paused() -> None:
        async with shared.slot():
            pass

    with closing(asyncio.new_event_loop()) as loop:
        loop.run_until_complete(refused())
        lost = asyncio.new_event_loop()
        lost.set_exception_handler(lambda _, context: None)
        task = wait_in(lost, shared)
        ours = loop.create_task(paused())
        loop.run_until_complete(settle())
        lost.close()
        loop.run_until_complete(ours)
    del task
    gc.collect()
    assert (shared.in_flight, shared.waiting) == (0, 0)
