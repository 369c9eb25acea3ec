from dataclasses import replace

import pytest
from runs_made import row, rows

from tmas_graph.evaluation.metrics import Interval
from tmas_graph.evaluation.tracks import Track
from tmas_graph.evaluation.uniting import MethodRun, Setup
from tmas_graph.usage import Usage


def track(made, problems=()):
    by_problem = {}
    for each in made:
        by_problem.setdefault(each.problem, []).append(each)
    ordered = {name: tuple(many) for name, many in by_problem.items()}
    return Track(MethodRun(made[0].method, ordered, Setup(problems=tuple(problems))))


TWO = track(rows("tmas", {"p1": ["+aab", "++bb"], "p2": ["abcd", "+bbb"]}))


def test_pass_at_1_is_of_one_iteration_alone():
    assert [TWO.at(t).pass_at_1.value for t in (0, 1)] == pytest.approx([0.125, 0.375])


def test_the_majority_and_the_oracle_are_of_all_candidates_so_far():
    first, second = TWO.at(0), TWO.at(1)
    assert (first.candidates, second.candidates) == (4, 8)
    assert first.majority.value == 0.0
    # p1: 3 right, 2 a, 3 b: a tie of two; p2: 4 b
    assert second.majority.value == pytest.approx(0.5 / 2)
    assert [TWO.at(t).oracle.value for t in (0, 1)] == [0.5, 1.0]


def test_the_selected_answer_is_that_after_the_iteration():
    found = TWO.at(1).selected
    assert found.value == 1.0  # the first candidates of both
    assert TWO.at(0).selected.value == 0.5
    assert found.interval.low == pytest.approx(2 / (2 + 1.959964**2))  # Wilson, 2 of 2


def test_what_was_spent_adds_up():
    assert TWO.at(0).tokens == 400
    assert TWO.at(1).tokens == 800
    assert TWO.at(1).spent == Usage(16, 160, 1440, cost=pytest.approx(0.016))
    assert (TWO.at(1).depth, TWO.at(1).seconds) == (2, 4)


def test_what_the_judge_spends_is_no_part_of_the_method():
    judged = row("p", "m", 0, "+a", spend={"solution": Usage(2, 10, 20), "judge": Usage(1, 99, 9)})
    assert track([judged]).at(0).spent == Usage(2, 10, 20)


def test_a_problem_that_ended_early_keeps_its_standing_at_no_cost():
    early = track(rows("tmas", {"p1": ["+"], "p2": ["a", "b", "+"]}))
    last = early.at(2)
    assert (last.held, last.selected.value, last.tokens) == (1, 1.0, (100 + 300) / 2)
    assert early.at(9).held == 2
    assert early.notes() == ["tmas: 1 problem (p1): ended early, and keeps its last standing"]


def test_a_problem_that_failed_is_wrong_and_charged_from_the_first_iteration_on():
    failed = replace(
        row("p2", "tmas", 3, "", outcome="failed", cause="down"),
        spend={"solution": Usage(5, 500, 500)},
    )
    found = track([*rows("tmas", {"p1": ["+", "+"]}), failed])
    for t in (0, 1):
        standing = found.at(t)
        assert (standing.pass_at_1.value, standing.selected.value) == (0.5, 0.5)
        assert (standing.failed, standing.held) == (1, 0)
        assert standing.pass_at_1.counts.error == 1
    assert found.at(0).tokens == (100 + 1000) / 2
    assert found.notes() == ["tmas: 1 problem (p2): failed, and counts as wrong"]
    assert list(found.iterations) == [0, 1]


def test_an_iteration_without_candidates_is_no_right_one():
    found = track(rows("tmas", {"p1": ["+", ""]}))
    assert found.at(1).pass_at_1.value == 0.0
    assert found.at(1).pass_at_1.counts.unanswered == 1


def test_the_standing_within_some_tokens_is_the_last_that_fits():
    assert TWO.within(399.9) is None
    assert TWO.within(400).iteration == 0
    assert TWO.within(799).iteration == 0
    assert TWO.within(10**9).iteration == 1


def test_rows_that_are_missing_are_said():
    cut = [row("p1", "tmas", 0, "+"), row("p2", "tmas", 1, "+", stop="iterations")]
    assert track(cut, ["p1", "p2", *"abcdef"]).notes() == [
        "tmas: 6 problems (a, b, c, d, e, …): no row yet, and isn't counted",
        "tmas: 1 problem (p1): rows without an end, and keeps its last standing",
        "tmas: 1 problem (p2): no row of its first iteration, and counts from its first row on",
    ]


def test_single_candidates_have_no_majority():
    found = track(rows("chain_of_thought", {"p1": ["+"], "p2": ["a"]})).at(0)
    assert found.majority is None
    assert found.pass_at_1.interval != Interval(0.0, 1.0)
