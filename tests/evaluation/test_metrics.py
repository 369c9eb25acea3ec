from itertools import combinations
from math import comb, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.metrics import Counts, Interval, Try

RIGHT, WRONG = Try("correct", 0), Try("incorrect", 1)


def tries(**marks):
    """`+` is right, `a` to `z` are wrong answers, `.` is a try without an answer."""

    def one(mark):
        if mark == "+":
            return RIGHT
        return Try("unanswered") if mark == "." else Try("incorrect", ord(mark))

    return {name: tuple(map(one, text)) for name, text in marks.items()}


def test_pass_at_1_is_the_mean_of_the_problems_with_an_error_over_problems():
    found = metrics.pass_at(tries(a="++++", b="++xx", c="xxxx"))
    assert found.value == pytest.approx(0.5)
    assert found.standard_error == pytest.approx(0.5 / sqrt(3))  # sd of 1, .5, 0 is .5
    assert found.interval == Interval(0.0, 1.0)
    assert (found.problems, found.counts.tries, found.counts.correct) == (3, 12, 6)


def test_the_error_is_that_of_scipy():
    found = metrics.pass_at(tries(a="+++x", b="++xx", c="xxxx", d="+xxx"))
    assert found.standard_error == pytest.approx(stats.sem([0.75, 0.5, 0.0, 0.25]))


@pytest.mark.parametrize(
    ("n", "correct", "k", "value"),
    [(4, 2, 2, 5 / 6), (5, 1, 3, 0.6), (3, 0, 3, 0.0), (3, 1, 3, 1.0), (10, 3, 1, 0.3)],
)
def test_pass_at_k_is_the_share_of_subsets_with_a_right_try(n, correct, k, value):
    assert metrics.pass_at_k(n, correct, k) == pytest.approx(value)
    pool = [i < correct for i in range(n)]
    subsets = list(combinations(pool, k))
    assert value == pytest.approx(sum(map(any, subsets)) / comb(n, k))


@pytest.mark.parametrize("k", [0, 3])
def test_k_beyond_the_tries_is_refused(k):
    for call in (metrics.pass_at, metrics.majority_at):
        with pytest.raises(ValueError, match=r"a has 2 tries, but k is"):
            call(tries(a="+x"), k)
    with pytest.raises(ValueError, match=r"there are 2 tries"):
        metrics.pass_at_k(2, 1, k)


def test_majority_of_all_is_the_commonest_answer():
    found = metrics.majority_at(tries(a="+++xy", b="+xxyy", c="+....", d="....."), 5)
    assert found.value == pytest.approx((1 + 0 + 1 + 0) / 4)


def test_majority_breaks_ties_by_chance():
    pool = "++xy"  # of the four triples ++x and ++y are right, +xy twice is a tie of three
    assert metrics.majority_at(tries(a=pool), 3).value == pytest.approx(0.5 + 0.5 / 3)


def test_all_that_went_wrong_stays_in_the_denominator_and_is_counted():
    ways = ("correct", "incorrect", "unsure", "error", "unanswered", "truncated")
    found = metrics.pass_at({"a": [Try(way) for way in ways]})
    assert found.value == pytest.approx(1 / 6)
    assert found.counts == Counts(6, 1, 1, 1, 1, 1, 1)


def test_selected_accuracy_has_wilsons_interval():
    statuses = {str(i): "correct" for i in range(9)} | {"9": "unsure"}
    found = metrics.selected(statuses)
    known = stats.binomtest(9, 10).proportion_ci(method="wilson")
    assert found.value == pytest.approx(0.9)
    assert (found.interval.low, found.interval.high) == pytest.approx((known.low, known.high))
    assert found.counts.unsure == 1


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 2), (7, 50), (400, 400)])
def test_wilson_is_that_of_scipy(successes, n):
    known = stats.binomtest(successes, n).proportion_ci(method="wilson")
    found = metrics.wilson(successes, n)
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-9)


def test_a_single_problem_has_no_error_and_a_wide_interval():
    found = metrics.pass_at(tries(a="+x"))
    assert found.standard_error is None
    assert found.interval == Interval(0.0, 1.0)


def test_no_problem_is_refused():
    with pytest.raises(ValueError, match="no problem"):
        metrics.pass_at({})


def test_values_by_problem_are_the_shares_of_right_tries():
    assert metrics.per_problem(tries(a="+x", b="++")) == {"a": 0.5, "b": 1.0}


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.lists(st.sampled_from("+xy."), min_size=4, max_size=6), min_size=1, max_size=5))
def test_figures_are_ordered_and_within_bounds(rows):
    pool = tries(**{f"p{i}": "".join(row) for i, row in enumerate(rows)})
    figures = [metrics.pass_at(pool, k) for k in range(1, 5)]
    values = [found.value for found in figures]
    assert values == sorted(values)
    whole = metrics.majority_at({"p0": pool["p0"]}, len(pool["p0"])).value
    assert whole <= metrics.pass_at({"p0": pool["p0"]}, len(pool["p0"])).value
    for found in figures:
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
