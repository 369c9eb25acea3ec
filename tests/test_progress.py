from collections.abc import Sequence
from dataclasses import astuple
from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tmas_graph import progress
from tmas_graph.models.budget import Budget
from tmas_graph.settings import Settings
from tmas_graph.state import (
    Attempt,
    Problem,
    Rollout,
    Spend,
    Verification,
)
from tmas_graph.usage import Usage

PROBLEM = Problem("Q", id="p")
shares = st.sampled_from([0.0, 0.1, 0.2, 0.25, 1 / 3, 0.34, 0.5, 0.7, 0.9, 1.0])


def drawn(
    n: int, epsilon: float, how: str, iterations: int, seed: int = 0
) -> list[tuple[str, ...]]:
    settings = Settings.checked(
        {"candidates": n, "epsilon": epsilon, "mode_draws": how, "seed": seed}
    )
    return [progress.draw_modes(settings, "p", t) for t in range(1, iterations + 1)]


@pytest.mark.parametrize("how", ["bernoulli", "stratified"])
def test_the_first_iteration_draws_nothing(how: Any) -> None:
    settings = Settings(candidates=3, epsilon=1.0, mode_draws=how)
    assert progress.draw_modes(settings, "p", 0) == ("initial",) * 3


@pytest.mark.parametrize("how", ["bernoulli", "stratified"])
@pytest.mark.parametrize(("epsilon", "mode"), [(0.0, "exploit"), (1.0, "explore")])
def test_the_extremes_are_exact(how: str, epsilon: float, mode: str) -> None:
    assert set(drawn(5, epsilon, how, 30)) == {(mode,) * 5}


def test_a_coin_falls_on_epsilon_over_many_draws() -> None:
    modes = [mode for row in drawn(8, 0.2, "bernoulli", 1000) for mode in row]
    share = modes.count("explore") / len(modes)
    assert abs(share - 0.2) < 3 * (0.2 * 0.8 / len(modes)) ** 0.5


def test_iterations_without_any_explorer_are_as_frequent_as_the_coin_says() -> None:
    rows = drawn(8, 0.2, "bernoulli", 2000)
    none = sum("explore" not in row for row in rows) / len(rows)
    assert abs(none - 0.8**8) < 0.025


def test_draws_depend_on_seed_problem_iteration_and_candidate_alone() -> None:
    settings = Settings(candidates=64, epsilon=0.5)
    modes = progress.draw_modes(settings, "p", 1)
    assert modes == progress.draw_modes(settings, "p", 1)
    others = [
        progress.draw_modes(settings.model_copy(update={"seed": 1}), "p", 1),
        progress.draw_modes(settings, "q", 1),
        progress.draw_modes(settings, "p", 2),
    ]
    assert len({modes, *others}) == 4
    fewer = settings.model_copy(update={"candidates": 10})
    assert progress.draw_modes(fewer, "p", 1) == modes[:10]
    marks = "".join(mode[-1] for mode in modes[:10])
    assert marks == "eteteeetee"  # pinned: a resume on another machine draws the same


@given(st.integers(1, 12), shares, st.integers(1, 25))
@examples(max_examples=200, derandomize=True, deadline=None)
def test_stratified_draws_have_a_fixed_share_that_goes_round(
    n: int, epsilon: float, iterations: int
) -> None:
    rows = drawn(n, epsilon, "stratified", iterations)
    counts = [row.count("explore") for row in rows]
    assert set(counts) <= {floor(epsilon * n + 1e-9), ceil(epsilon * n - 1e-9)}
    assert sum(counts) == floor(epsilon * n * iterations + 1e-9)
    turns = [sum(row[i] == "explore" for row in rows) for i in range(n)]
    assert max(turns) - min(turns) <= 1


def attempt(
    iteration: int, index: int, answer: str | None, score: float | None, outcome: str = "finished"
) -> Attempt:
    return Attempt(iteration, index, "exploit", outcome, answer, score)  # type: ignore[arg-type]


def state_of(history: Sequence[Attempt], kind: Any = "answer", **more: Any) -> dict[str, Any]:
    done = max((a.iteration for a in history), default=-1) + 1
    problem = Problem("Q", kind=kind)
    state = {"problem": problem, "iteration": done, "history": tuple(map(astuple, history)), **more}
    return {**state, "classes": progress.grouped(state)}


def row(iteration: int, *votes: tuple[str | None, float | None]) -> list[Attempt]:
    return [attempt(iteration, i, answer, score) for i, (answer, score) in enumerate(votes)]


SURE = [*row(0, ("42", 1.0), ("42", 1.0)), *row(1, ("42", 1.0), ("42", 0.9))]


@pytest.mark.parametrize(
    ("history", "changes", "stop"),
    [
        (SURE, {}, "confident"),
        (SURE, {"early_stop": False}, None),
        (SURE, {"early_stop_iterations": 3}, None),
        (SURE, {"early_stop_score": 1.0}, None),
        (SURE, {"iterations": 2}, "iterations"),
        (SURE[:2], {}, None),
        (SURE[:2], {"early_stop_iterations": 1}, "confident"),
        ([*row(0, ("7", 1.0)), *row(1, ("42", 1.0))], {}, None),
        ([*row(0, ("7", 0.2)), *row(1, ("42", 1.0)), *row(2, ("42", 1.0))], {}, "confident"),
        ([*row(0, ("42", 1.0)), *row(1, ("42", 1.0), ("7", 0.6))], {}, None),
        ([*row(0, ("42", None)), *row(1, ("42", None))], {}, None),
        ([*row(0, (None, 1.0)), *row(1, (None, 1.0))], {}, None),
        ([*row(0, ("0.5", 1.0)), *row(1, ("\\frac{1}{2}", 1.0))], {}, "confident"),
    ],
)
def test_it_stops_once_the_leading_answer_is_well_ahead_for_long_enough(
    history: list[Attempt], changes: dict[str, Any], stop: str | None
) -> None:
    assert progress.stop_reason(state_of(history), Settings(**changes)) == stop


@pytest.mark.parametrize(
    ("scores", "stop"),
    [((0.9, 0.9), "confident"), ((0.9, None), "confident"), ((0.5, 0.9), None), ((None, 1), None)],
)
def test_a_proof_stops_once_the_best_one_is_well_verified_for_long_enough(
    scores: tuple[float | None, ...], stop: str | None
) -> None:
    history = [attempt(t, 0, None, score) for t, score in enumerate(scores)]
    assert progress.stop_reason(state_of(history, "proof"), Settings()) == stop


@pytest.mark.parametrize(
    ("changes", "stop"),
    [
        ({"max_calls": 10}, "budget"),
        ({"max_calls": 11}, None),
        ({"max_total_tokens": 300}, "budget"),
        ({"max_total_tokens": 301}, None),
        ({"max_cost": 1.5}, "budget"),
        ({"max_cost": 1.6}, None),
        ({"max_calls": 1, "iterations": 1}, "iterations"),
    ],
)
def test_a_budget_that_is_spent_stops_the_run(changes: dict[str, Any], stop: str | None) -> None:
    spent = (0, "solution", astuple(Usage(10, 100, 200, cost=1.5)))
    state = state_of(row(0, ("42", 1.0)), spend=(spent,))
    assert progress.stop_reason(state, Settings(**changes)) == stop


def test_time_and_the_runs_budget_need_a_budget() -> None:
    state, given = state_of(row(0, ("42", 1.0))), Settings(max_seconds=1e-9)
    assert progress.stop_reason(state, given) is None
    run = Budget(max_calls=3)
    run.charge(Usage(3))
    assert progress.stop_reason(state, Settings(), Budget(within=run)) == "budget"
    now = iter([0.0, 5.0, 6.0])
    timed = Budget(max_seconds=6, clock=lambda: next(now))
    assert [progress.stop_reason(state, given, timed) for _ in range(2)] == [None, "budget"]


def rollout(
    iteration: int, index: int, answer: str | None, score: float | None, outcome: Any = "finished"
) -> Rollout:
    return Rollout(
        iteration,
        index,
        "exploit",
        solution=f"text {iteration}.{index}",
        answer=answer,
        verifications=(Verification("", score),),
        outcome=outcome,
        usage={"solution": Usage(1, 2, 3)},
    )


def ended(*iterations: list[Rollout], kind: Any = "answer") -> dict[str, Any]:
    """The state after these iterations, closed one after the other."""
    state: dict[str, Any] = {"problem": Problem("Q", kind=kind)}
    for t, rollouts in enumerate(iterations):
        bank = {"experience": Usage(1, 0, 0), "guideline": Usage(1, 0, 0)}
        state |= {"iteration": t, "rollouts": tuple(rollouts), "bank_usage": bank}
        state |= progress.closed(state, progress.grouped(state))
    return state


def test_the_answer_with_most_weight_wins_with_its_best_text() -> None:
    state = ended(
        [rollout(0, 0, "7", 1.0), rollout(0, 1, "42", 0.5)],
        [rollout(1, 0, "42", 0.6), rollout(1, 1, "42", 0.4)],
    )
    result = progress.result(state)
    assert (result.answer, result.solution, result.score) == ("42", "text 1.0", 0.6)
    assert result.confidence == pytest.approx(1.5 / 2.5)
    assert result.iterations == 2
    assert result.usage == Usage(8, 8, 12)
    assert result.spend == tuple(
        Spend(t, role, usage)
        for t in (0, 1)
        for role, usage in (
            ("solution", Usage(2, 4, 6)),
            ("experience", Usage(1)),
            ("guideline", Usage(1)),
        )
    )


def test_a_tie_goes_to_the_later_iteration_then_to_the_better_score() -> None:
    later = ended([rollout(0, 0, "7", 1.0)], [rollout(1, 0, "42", 1.0)])
    assert progress.result(later).answer == "42"
    better = ended([rollout(0, 0, "7", 1.0), rollout(0, 1, "42", 0.5), rollout(0, 2, "42", 0.5)])
    assert progress.result(better).answer == "7"


def test_an_answer_of_unknown_score_is_better_than_none() -> None:
    result = progress.result(ended([rollout(0, 0, "42", None), rollout(0, 1, None, 1.0)]))
    assert (result.answer, result.confidence, result.score) == ("42", 0.0, None)
    assert result.solution == "text 0.0"


def test_without_an_answer_there_is_a_result_all_the_same() -> None:
    result = progress.result(ended([rollout(0, 0, None, None)]))
    assert (result.answer, result.confidence, result.solution) == (None, 0.0, "")


def test_the_best_proof_wins_and_a_tie_goes_to_the_later_one() -> None:
    first = [rollout(0, 0, None, 0.5), rollout(0, 1, None, 1.0)]
    for score, text in ((0.9, "text 0.1"), (1.0, "text 1.0")):
        state = ended(first, [rollout(1, 0, None, score)], kind="proof")
        result = progress.result(state)
        assert (result.answer, result.solution, result.confidence) == (None, text, 1.0)


def test_a_proof_with_a_known_score_beats_one_without() -> None:
    state = ended([rollout(0, 0, None, 0.0)], [rollout(1, 0, None, None)], kind="proof")
    assert progress.result(state).solution == "text 0.0"


def test_a_total_failure_names_the_first_cause() -> None:
    down = [
        Rollout(2, i, "exploit", outcome="failed", cause=f"solution: down {i}.") for i in (0, 1)
    ]
    cut = Rollout(2, 2, "exploit", outcome="truncated")
    state = {"iteration": 2, "rollouts": (*down, cut)}
    said = progress.total_failure(state)
    assert said.startswith("iteration 2: no candidate came through; 2 of 3 failed, the first with")
    assert "solution: down 0." in said
    assert progress.total_failure({"iteration": 2, "rollouts": (cut,)}) == ""
    one_finished = (*down, rollout(2, 2, "42", 1.0))
    assert progress.total_failure({"iteration": 2, "rollouts": one_finished}) == ""
    one_halted = (*down, Rollout(2, 3, "exploit", outcome="halted"))
    assert progress.total_failure({"iteration": 2, "rollouts": one_halted}) == ""


@pytest.mark.parametrize("outcome", ["failed", "halted"])
def test_a_candidate_that_failed_or_was_halted_goes_on_where_it_stopped(outcome: Any) -> None:
    begun = Rollout(1, 0, "exploit", solution="text", outcome=outcome, cause="why")
    sent = progress.candidate(begun, 1, 0, "exploit")
    assert sent is not None
    assert (sent.outcome, sent.cause, sent.solution) == ("open", "", "text")
    assert progress.candidate(rollout(1, 0, "42", 1.0), 1, 0, "exploit") is None
    assert progress.candidate(None, 1, 0, "explore") == Rollout(1, 0, "explore")


def cut_short(before: dict[str, Any], *rollouts: Rollout) -> dict[str, Any]:
    """The state in which a budget ended the iteration that follows `before`."""
    return {**before, "rollouts": (*before.get("rollouts", ()), *rollouts), "stop": "budget"}


def test_those_who_came_through_before_a_halt_vote_and_the_iteration_stays_open() -> None:
    halted = rollout(1, 1, "7", None, "halted")
    state = cut_short(ended([rollout(0, 0, "7", 0.5)]), rollout(1, 0, "42", 1.0), halted)
    result = progress.result(progress.concluded(state))
    assert (result.answer, result.solution, result.stop) == ("42", "text 1.0", "budget")
    assert result.confidence == pytest.approx(1.0 / 1.5)
    assert result.iterations == 1
    assert [s.usage.calls for s in result.spend if s.iteration == 1] == [2]
    assert result.usage == Usage(5, 6, 9)


def test_a_run_whose_first_candidates_were_all_halted_has_a_result() -> None:
    begun = {"problem": PROBLEM, "iteration": 0}
    halted = Rollout(0, 0, "initial", outcome="halted")
    result = progress.result(progress.concluded(cut_short(begun, halted)))
    assert (result.answer, result.iterations, result.stop) == (None, 0, "budget")
    assert (result.usage, result.spend) == (Usage(), ())


def test_the_usage_of_both_banks_is_kept_in_one_order() -> None:
    one, other = {"experience": Usage(1)}, {"guideline": Usage(2)}
    assert progress.by_bank(one, other) == progress.by_bank(other, one)
    assert list(progress.by_bank(other, one)) == ["experience", "guideline"]
    assert progress.by_bank(one, {"experience": Usage(3)}) == {"experience": Usage(3)}


def test_answers_of_one_value_vote_together_and_the_best_of_them_leads() -> None:
    state = ended(
        [rollout(0, 0, "7", 0.9), rollout(0, 1, r"\sqrt{8}", 0.5)],
        [rollout(1, 0, r"2\sqrt{2}", 0.6), rollout(1, 1, "no idea", 1.0)],
    )
    assert state["classes"] == (0, 1, 1, 3)
    result = progress.result(state)
    assert (result.answer, result.solution) == (r"2\sqrt{2}", "text 1.0")
    assert result.confidence == pytest.approx(1.1 / 3.0)


@pytest.mark.parametrize(("power", "answer"), [(1.0, "7"), (4.0, "42")])
def test_scores_vote_with_the_power_that_is_set(power: float, answer: str) -> None:
    rule = progress.rule_of(Settings(score_power=power))
    low = [rollout(0, i, "7", 0.5) for i in range(4)]
    state = cut_short(ended(low), rollout(1, 0, "42", 1.0))
    done = progress.closed(state, progress.grouped(state), rule)
    after = {**state, **done}
    result = progress.result(after, rule)
    assert (result.answer, result.standings[-1].answer) == (answer, answer)
    assert progress.standing(done, None, rule)["answer"] == answer
    assert done["leader"] is not None
    assert done["leader"].answer == answer


def test_without_any_known_score_the_most_votes_win() -> None:
    state = ended(
        [rollout(0, 0, "42", None), rollout(0, 1, "42", None)], [rollout(1, 0, "7", None)]
    )
    result = progress.result(state)
    assert (result.answer, result.confidence, result.solution) == ("42", 0.0, "text 0.0")


def test_what_is_grouped_is_not_graded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    state = ended([rollout(0, 0, r"\sqrt{8}", 1.0), rollout(0, 1, r"2\sqrt{2}", 1.0)])

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("graded again")

    monkeypatch.setattr("tmas_graph.answers.voting.equal", fail)
    assert progress.result(state).confidence == 1.0
    assert progress.stop_reason(state, Settings(early_stop_iterations=1)) == "confident"
    following = {**state, "rollouts": (rollout(1, 0, r"\sqrt{8}", 1.0),), "iteration": 1}
    assert progress.grouped(following) == (0, 0, 0)
