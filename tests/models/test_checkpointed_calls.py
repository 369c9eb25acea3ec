"""Truncated replies, budgets and notes of checkpointed calls."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from clients import shrinking
from endpoints.protocol import Failure, Request, ScriptedReply
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import BudgetSpent, CallError, EndpointDown
from tmas_graph.models import pool, retrying
from tmas_graph.models.budget import Budget
from tmas_graph.models.calls import Call, Place
from tmas_graph.models.checkpointed import BUDGET, CONNECT, LOG, ORDER, Order, checkpointed, seed_of
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Model, Reply, total
from tmas_graph.prompts import Prompt

ASK = Prompt([{"role": "user", "content": "Solve it"}])
PLACE = Place("p", 3, "solution", 1)
SEED = seed_of(0, PLACE)
_T = TypeVar("_T")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "backoff", lambda attempt: 0.0)


class Log:
    """A CallLog in memory."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def note(self, call: Call) -> Awaitable[None]:
        self.calls.append(call)
        return asyncio.sleep(0)


class Store(Log):
    """A CallStore in memory."""

    async def earlier(self, place: Place, draw: int | None, purpose: str) -> Call | None:
        made = (c for c in self.calls if (c.place, c.draw, c.purpose) == (place, draw, purpose))
        return next(made, None)


def within_a_graph(
    work: Callable[[Model], Awaitable[_T]],
    scripted: ScriptedServer,
    *,
    configurable: dict[str, Any] | None = None,
    unbudgeted: bool = False,
    **fields: Any,
) -> _T:
    @entrypoint()
    async def run(_: str) -> Any:
        endpoint = Endpoint(base_url=scripted.base_url, model="scripted", **fields)
        return await work(checkpointed(endpoint, 0, PLACE, unbudgeted=unbudgeted))

    async def all_of_it() -> Any:
        try:
            return await run.ainvoke("go", {"configurable": configurable or {}})
        finally:
            await pool.close()

    result: _T = asyncio.run(all_of_it())
    return result


async def once(model: Model) -> list[Reply]:
    return await model(ASK)


def cut_at_first(request: Request, choice: int) -> ScriptedReply:
    """Cut unless more tokens are allowed than 10, or a text is to be continued."""
    if request.messages[-1]["role"] == "assistant":
        return ScriptedReply(text=" and the end.")
    if (request.body.get("max_tokens") or 0) > 10:
        return ScriptedReply(text="The whole.", thinking="longer")
    return ScriptedReply(text="The beginning", thinking="thought", finish_reason="length")


def test_a_truncated_reply_is_kept_as_one_by_default() -> None:
    with server(script=cut_at_first) as scripted:
        [reply] = within_a_graph(once, scripted, max_tokens=10)
        assert len(scripted.requests) == 1
    assert (reply.ending, reply.usage.calls) == ("truncated", 1)


def test_a_truncated_reply_is_tried_once_more_with_twice_the_tokens() -> None:
    with server(script=cut_at_first) as scripted:
        [reply] = within_a_graph(once, scripted, max_tokens=10, truncated="retry")
        first, second = scripted.requests
    assert (reply.text, reply.thinking, reply.ending) == ("The whole.", "longer", "whole")
    assert reply.usage.calls == 2
    assert reply.usage.tokens == sum(tokens_of(r) for r in (first, second))
    assert second.body["max_tokens"] == 20
    assert first.messages == second.messages
    assert first.seed != second.seed


def tokens_of(request: Request) -> int:
    said = (
        "".join((r.text or "") for r in request.replies),
        "".join(r.thinking for r in request.replies),
    )
    return sum(-(-len(text) // 4) for text in (request.text, *said))


def test_a_reply_that_is_truncated_again_stays_truncated() -> None:
    with server(script=lambda r, c: replace(cut_at_first(r, c), finish_reason="length")) as s:
        [reply] = within_a_graph(once, s, max_tokens=4, truncated="retry")
        assert len(s.requests) == 2
    assert (reply.ending, reply.usage.calls) == ("truncated", 2)


def test_a_truncated_text_is_continued() -> None:
    with server(script=cut_at_first) as scripted:
        [reply] = within_a_graph(once, scripted, max_tokens=10, truncated="continue")
        _, second = scripted.requests
    assert (reply.text, reply.thinking) == ("The beginning and the end.", "thought")
    assert reply.ending == "whole"
    assert second.messages[-1] == {"role": "assistant", "content": "The beginning"}
    assert second.body["continue_final_message"] is True
    assert second.body["add_generation_prompt"] is False


def test_thinking_that_was_cut_is_not_continued_but_tried_again() -> None:
    def script(request: Request, choice: int) -> ScriptedReply:
        return replace(cut_at_first(request, choice), text=None)

    with server(script=script) as scripted:
        within_a_graph(once, scripted, max_tokens=10, truncated="continue")
        assert [len(r.messages) for r in scripted.requests] == [1, 1]


def test_each_truncated_reply_of_several_is_mended_alone() -> None:
    def script(request: Request, choice: int) -> ScriptedReply:
        if choice == 1 and request.n == 3:
            return cut_at_first(request, choice)
        return ScriptedReply(text=f"{request.seed} {choice}")

    async def three(model: Model) -> list[Reply]:
        return await model(ASK, n=3)

    with server(script=script) as scripted:
        replies = within_a_graph(three, scripted, truncated="retry")
        assert [r.n for r in scripted.requests] == [3, 1]
        assert scripted.requests[1].seed != SEED + 1
    assert [r.ending for r in replies] == ["whole"] * 3
    assert total(replies).calls == 2


def test_if_the_second_try_fails_the_truncated_reply_stays_and_both_are_paid() -> None:
    def fail(request: Request) -> int | None:
        return 500 if request.index else None

    with server(script=cut_at_first, fail=fail) as scripted:
        [reply] = within_a_graph(once, scripted, max_tokens=10, truncated="retry", attempts=2)
        assert len(scripted.requests) == 3
    assert (reply.ending, reply.usage.calls) == ("truncated", 3)


def test_a_second_try_that_the_time_cuts_short_is_paid_in_the_replys_usage() -> None:
    def slow(request: Request) -> float:
        return 30.0 if request.index else 0.0

    budget = Budget(max_seconds=1.0)
    with server(script=cut_at_first, latency=slow) as scripted:
        given = {"max_tokens": 10, "truncated": "retry"}
        [reply] = within_a_graph(once, scripted, configurable={BUDGET: budget}, **given)
    assert (reply.ending, reply.usage) == ("truncated", budget.spent)
    assert budget.spent.calls == 2


def test_a_call_is_not_begun_once_the_budget_is_spent() -> None:
    budget = Budget(max_calls=2)

    async def three_times(model: Model) -> list[Reply]:
        return [*await model(ASK), *await model(ASK), *await model(ASK)]

    with server() as scripted:
        with pytest.raises(BudgetSpent, match=r"max_calls 2 is reached\. Resume with more"):
            within_a_graph(three_times, scripted, configurable={BUDGET: budget})
        assert len(scripted.requests) == 2
    assert budget.spent.calls == 2


def test_an_unbudgeted_call_is_made_and_charged_all_the_same() -> None:
    budget = Budget(max_calls=1)
    budget.charge(replace(budget.spent, calls=1))
    with server() as scripted:
        within_a_graph(once, scripted, configurable={BUDGET: budget}, unbudgeted=True)
    assert budget.spent.calls == 2


def test_a_call_in_flight_is_given_up_when_the_time_is_over() -> None:
    budget, log = Budget(max_seconds=3.0), Log()
    with server(latency=30) as scripted, pytest.raises(BudgetSpent, match="max_seconds"):
        within_a_graph(once, scripted, configurable={BUDGET: budget, LOG: log})
    assert budget.spent.calls == 1
    assert budget.spent.estimated_tokens > 0
    assert [call.usage for call in log.calls] == [budget.spent]


def test_every_attempt_is_charged_and_noted_whatever_came_of_it() -> None:
    budget, log = Budget(), Log()

    def fail(request: Request) -> Failure | None:
        return Failure(status=500) if request.attempt < 2 else None

    with server(fail=fail) as scripted:
        [reply] = within_a_graph(once, scripted, configurable={BUDGET: budget, LOG: log})
        assert len(scripted.requests) == 3
    [call] = log.calls
    assert budget.spent == call.usage == reply.usage
    assert budget.spent.calls == 3
    assert [s.status for s in call.sendings] == [500, 500, None]
    assert (call.place, call.seed, call.purpose) == (PLACE, SEED, "first")
    assert call.messages == tuple(ASK.messages)


def test_a_call_that_fails_is_charged_and_noted_with_its_cause() -> None:
    budget, log = Budget(), Log()
    with server(fail=lambda r: 503) as scripted, pytest.raises(EndpointDown) as caught:
        within_a_graph(once, scripted, configurable={BUDGET: budget, LOG: log}, attempts=2)
    [call] = log.calls
    assert budget.spent == call.usage == caught.value.usage
    assert budget.spent.calls == 2
    assert "HTTP 503" in call.cause
    assert call.replies == ()


def test_a_call_that_is_cancelled_is_charged_and_noted() -> None:
    budget, log = Budget(), Log()
    there: list[Callable[[], None]] = []

    def latency(request: Request) -> float:
        there[0]()
        return 30.0

    async def cancelled(model: Model) -> None:
        arrived, loop = asyncio.Event(), asyncio.get_running_loop()
        there.append(lambda: loop.call_soon_threadsafe(arrived.set) and None)
        call = asyncio.ensure_future(model(ASK))
        await arrived.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    with server(latency=latency) as scripted:
        within_a_graph(cancelled, scripted, configurable={BUDGET: budget, LOG: log})
    [call] = log.calls
    assert budget.spent == call.usage
    assert budget.spent.calls == 1
    assert "given up" in call.cause


CALLS: list[tuple[Prompt, dict[str, Any]]] = [
    (ASK, {}),
    (ASK, {"send_seed": False}),
    (shrinking(20), {"context_tokens": 1200, "max_tokens": 100}),
]


@pytest.mark.parametrize(("prompt", "fields"), CALLS, ids=["usual", "seedless", "cut"])
def test_a_store_keeps_the_calls_and_the_checkpoint_nothing_of_them(
    prompt: Prompt, fields: dict[str, Any]
) -> None:
    saver, store = InMemorySaver(), Store()
    broken = True

    with server(script=lambda r, c: "A text that is stored once.") as scripted:

        @entrypoint(checkpointer=saver)
        async def run(_: str) -> list[str]:
            endpoint = Endpoint(base_url=scripted.base_url, model="scripted", **fields)
            [reply] = await checkpointed(endpoint, 0, PLACE)(prompt)
            if broken:
                raise RuntimeError("killed")
            return [reply.text]

        async def go(given: str | None) -> list[str]:
            try:
                config: Any = {"configurable": {"thread_id": "1", LOG: store}}
                return list(await run.ainvoke(given, config))
            finally:
                await pool.close()

        with pytest.raises(RuntimeError, match="killed"):
            asyncio.run(go("go"))
        written = repr([dict(saver.storage), dict(saver.writes), dict(saver.blobs)])
        assert store.calls[0].id not in written
        assert "stored once" not in written
        assert bool(store.calls[0].cut) == ("context_tokens" in fields)
        broken = False
        assert asyncio.run(go(None)) == ["A text that is stored once."]
        assert len(scripted.requests) == 1


def test_what_a_store_has_of_another_prompt_is_not_taken() -> None:
    store = Store()

    async def ask(model: Model, text: str) -> str:
        return (await model(Prompt([{"role": "user", "content": text}])))[0].text

    with server(script=lambda r, c: f"of {r.text}") as scripted:
        for text in ("one", "two"):
            said = within_a_graph(
                lambda model, text=text: ask(model, text), scripted, configurable={LOG: store}
            )
            assert text in said
    assert len(scripted.requests) == 2


class Noting:
    """A client that notes what is asked for, and gives no reply."""

    takes_n = True

    def __init__(self) -> None:
        self.asks: list[Ask] = []

    def asked_for_n(self, *, came: bool) -> None: ...

    async def ask(self, prompt: Prompt, ask: Ask, note: Callable[[Call], None]) -> Call:
        self.asks.append(ask)
        raise CallError("none")


@pytest.mark.parametrize(("order", "priority"), [(None, -3), (lambda place: place.iteration, 3)])
def test_who_is_further_along_goes_first_unless_told_otherwise(
    order: Order | None, priority: int
) -> None:
    client = Noting()

    async def connect(_: Endpoint) -> Noting:
        return client

    with server() as scripted, pytest.raises(CallError):
        within_a_graph(once, scripted, configurable={CONNECT: connect, ORDER: order})

    assert [ask.priority for ask in client.asks] == [priority]
