"""Budgets and accounts through the graph: where a run stops, what it says, how it goes on."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.memory import InMemorySaver

from tmas_graph import Budget, Problem, Settings, asolve, build_graph
from tmas_graph import rollout as module
from tmas_graph.errors import BudgetSpent
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import BUDGET, seed_of
from tmas_graph.models.replies import Model
from tmas_graph.running import follow
from tmas_graph.state import Result
from tmas_graph.threads import open_threads
from tmas_graph.usage import summed

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

PROBLEM = Problem("What is 6 times 7?")
CONFIG: Any = {"configurable": {"thread_id": "1"}}


def endpoint(**changes: Any) -> ScriptedServer:
    return server(**{"script": Reasoner().short(), "role_of": role_of, **changes})


def settings(at: ScriptedServer, **changes: Any) -> Settings:
    given = {"candidates": 4, "verifications": 3, "iterations": 2, "epsilon": 0.5}
    fixed = {"mode_draws": "stratified", "early_stop": False, "attempts": 1}
    return Settings.checked({"base_url": at.base_url, **given, **fixed, **changes})


def by_role(result: Result) -> Counter[str]:
    calls: Counter[str] = Counter()
    for row in result.spend:
        calls[row.role] += row.usage.calls
    return calls


def refused(*places: tuple[int, str, int]) -> Callable[..., Model]:
    """A seam that says of these calls, by iteration, role and candidate, that they may not be."""
    real: Any = module.checkpointed

    async def refuse(*_: object, **__: object) -> Any:
        raise BudgetSpent("budget: it is spent. Resume with more to go on.")

    def seam(endpoint: Any, run_seed: int, place: Place, **options: Any) -> Model:
        if (place.iteration, place.role, place.index) in places:
            return refuse
        model: Model = real(endpoint, run_seed, place, **options)
        return model

    return seam


async def test_every_request_is_in_the_account_of_its_role_and_iteration() -> None:
    failing = seed_of(0, Place(PROBLEM.id, 0, "summary", 1))
    async with endpoint(fail=lambda r: 500 if r.seed == failing else None) as at:
        result = await asolve(PROBLEM, settings(at))
        assert by_role(result) == Counter(r.agent for r in at.requests)
        assert result.usage == summed(row.usage for row in result.spend)
        assert result.usage.calls == len(at.requests)
        assert [row.iteration for row in result.spend] == [0] * 5 + [1] * 5
        agents = ["solution", "verification", "summary", "experience", "guideline"]
        assert [row.role for row in result.spend] == agents * 2


async def test_a_bank_call_that_is_refused_is_in_the_account() -> None:
    async with endpoint(fail=lambda r: 403 if r.agent == "guideline" else None) as at:
        result = await asolve(PROBLEM, settings(at))
        assert by_role(result)["guideline"] == len(at.asked("guideline")) == 2


async def test_a_budget_ends_a_run_within_an_iteration_with_the_best_answer_so_far() -> None:
    async with endpoint() as at:
        result = await asolve(PROBLEM, settings(at, max_calls=19))
        assert (result.stop, result.iterations) == ("budget", 1)
        assert result.answer in result.solution
        assert 19 <= len(at.requests) <= 19 + 4, "more than was in flight"
        assert result.usage.calls == len(at.requests)
        assert by_role(result)["experience"] == 1


@pytest.mark.parametrize("role", ["solution", "verification", "summary"])
async def test_halted_candidates_go_on_as_if_nothing_had_happened(
    role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with endpoint() as at, open_threads(tmp_path) as store:
        given = settings(at)
        unbroken = await asolve(PROBLEM, given)
        expected = {r.digest for r in at.requests}
        at.requests.clear()
        record = await store.create(PROBLEM, given, {})
        with monkeypatch.context() as patched:
            patched.setattr(module, "checkpointed", refused((1, role, 0), (1, role, 3)))
            cut = await store.run(record)
        assert (cut.stop, cut.iterations) == ("budget", 1)
        rows = {(row.iteration, row.role) for row in cut.spend}
        assert {(0, "guideline"), (1, "summary")} <= rows
        assert not {(1, "experience"), (1, "guideline")} & rows
        whole = await store.run(record)
        assert replace(whole, usage=unbroken.usage) == unbroken
        assert whole.usage.calls == len(at.requests) == len(expected)
        assert {r.digest for r in at.requests} == expected, "something else was asked"


async def test_a_thread_gives_its_result_again_until_it_may_spend_more(tmp_path: Path) -> None:
    events: list[Any] = []
    async with endpoint() as at, open_threads(tmp_path) as store:
        record = await store.create(PROBLEM, settings(at, max_calls=19), {})
        cut = await store.run(record)
        asked = len(at.requests)
        assert await store.run(record, on_event=events.append) == cut
        assert events == [{"event": "already", "stop": "budget"}]
        assert len(at.requests) == asked
        more = replace(record, settings=record.settings.model_copy(update={"max_calls": 99}))
        whole = await store.run(more)
        assert (whole.stop, whole.iterations) == ("iterations", 2)
        assert whole.usage.calls == len(at.requests) == 28


async def test_failed_and_halted_candidates_are_a_stop_that_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = seed_of(0, Place(PROBLEM.id, 0, "solution", 2))
    async with endpoint() as at, open_threads(tmp_path) as store:
        at.change(fail=lambda r: 503 if r.seed == failing else None)
        record = await store.create(PROBLEM, settings(at, iterations=1), {})
        with monkeypatch.context() as patched:
            halted = [(0, "verification", index) for index in (0, 1, 3)]
            patched.setattr(module, "checkpointed", refused(*halted))
            cut = await store.run(record)
        assert (cut.stop, cut.iterations, cut.answer) == ("budget", 0, None)
        assert by_role(cut) == {"solution": 4}
        at.change(fail=None)
        whole = await store.run(record)
        assert whole.stop == "iterations"
        assert [r.seed for r in at.repeated()] == [failing]


async def test_an_iteration_whose_candidates_all_came_through_is_closed() -> None:
    async with endpoint() as at:
        few = {"candidates": 2, "verifications": 1, "max_calls": 6}
        result = await asolve(PROBLEM, settings(at, **few))
        assert (result.stop, result.iterations) == ("budget", 1)
        assert Counter(r.agent for r in at.requests[6:]) == {"experience": 1, "guideline": 1}


async def test_problems_share_the_budget_of_a_run() -> None:
    async with endpoint() as at:
        run, given = Budget(max_calls=40), settings(at)
        questions = [Problem(f"What is 6 times {n}?") for n in range(3)]
        results = await asyncio.gather(*(asolve(q, given, run=run) for q in questions))
        assert run.spent.calls == sum(r.usage.calls for r in results) == len(at.requests)
        assert 40 <= run.spent.calls <= 40 + 3 * (4 + 2), "more than was in flight, and banks"
        assert "budget" in {r.stop for r in results}


async def test_time_that_is_over_ends_a_run() -> None:
    async with endpoint() as at:
        run = Budget(max_seconds=10, clock=lambda: 99.0 if len(at.requests) >= 14 else 0.0)
        result = await asolve(PROBLEM, settings(at), run=run)
        assert (result.stop, result.iterations) == ("budget", 1)
        assert len(at.requests) == 14


async def test_a_graph_without_a_budget_stops_between_iterations() -> None:
    async with endpoint() as at:
        given = settings(at, max_calls=10)
        result = await follow(build_graph(), {"problem": PROBLEM}, {}, given)
        assert (result.stop, result.iterations) == ("budget", 1)
        assert len(at.requests) == 14


async def test_a_budget_in_the_config_is_stored_and_streamed_nowhere() -> None:
    saver, budget = InMemorySaver(), Budget(max_calls=1000)
    modes: Any = ["values", "updates", "tasks", "custom"]
    async with endpoint() as at:
        config: Any = {"configurable": {"thread_id": "1", BUDGET: budget}}
        stream = build_graph(saver).astream(
            {"problem": PROBLEM},
            config,
            context=settings(at),
            stream_mode=modes,
            subgraphs=True,
        )
        parts = [part async for part in stream]
    assert budget.spent.calls == len(at.requests)
    stored = [saved async for saved in saver.alist(CONFIG)]
    assert parts
    assert stored
    assert not [said for said in map(repr, [*parts, *stored]) if "Budget object" in said]
    assert not [saved for saved in stored if BUDGET in saved.metadata]


async def test_what_was_seen_of_an_iteration_that_goes_on_is_told_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Any] = []
    async with endpoint() as at, open_threads(tmp_path) as store:
        record = await store.create(PROBLEM, settings(at, iterations=1), {})
        with monkeypatch.context() as patched:
            patched.setattr(module, "checkpointed", refused((0, "summary", 2)))
            await store.run(record)
        await store.run(record, on_event=events.append)
    told = [e["index"] for e in events if e["event"] == "candidate"]
    assert sorted(told) == [0, 1, 2, 3]


async def test_a_stop_that_was_not_stored_does_not_hold_up_a_run_that_has_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise RuntimeError("killed")

    async with endpoint() as at, open_threads(tmp_path) as store:
        given = settings(at)
        unbroken = await asolve(PROBLEM, given)
        record = await store.create(PROBLEM, given, {})
        with monkeypatch.context() as patched:
            patched.setattr(module, "checkpointed", refused((1, "solution", 3)))
            patched.setattr("tmas_graph.progress.concluded", die)
            with pytest.raises(RuntimeError, match="killed"):
                await store.run(record)
        assert "result" not in await store.values(record.id)
        assert await store.run(record) == unbroken
