import pytest
from scipy import stats

from tmas_graph.evaluation.metrics import Interval
from tmas_graph.evaluation.paired import difference, holm

A = {"a": 0.0, "b": 0.5, "c": 0.25, "d": 1.0, "e": 0.0, "f": 0.0}
B = {"a": 1.0, "b": 0.5, "c": 0.75, "d": 1.0, "e": 0.25, "f": 0.5}


def test_a_difference_is_paired_by_problem():
    found = difference(A, B)
    assert found.value == pytest.approx(2.25 / 6)
    assert (found.problems, found.better, found.worse) == (6, 4, 0)
    assert found.p == pytest.approx(2 / 16)  # of 2⁴ patterns, all plus and all minus


def test_its_p_is_that_of_scipy():
    deltas = [B[name] - A[name] for name in A]
    known = stats.permutation_test(
        (deltas,), lambda x: sum(x) / len(x), permutation_type="samples", n_resamples=10**6
    )
    assert difference(A, B).p == pytest.approx(known.pvalue)


def test_its_interval_is_near_that_of_scipy():
    deltas = [B[name] - A[name] for name in A]
    known = stats.bootstrap(
        (deltas,), lambda x: sum(x) / len(x), method="percentile", vectorized=False,
        n_resamples=5000, rng=1,
    ).confidence_interval  # fmt: skip
    found = difference(A, B).interval
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=0.05)


def test_many_problems_are_flipped_at_random_and_p_is_never_0():
    first = {str(i): 0.0 for i in range(40)}
    found = difference(first, dict.fromkeys(first, 1.0), resamples=500)
    assert found.p == pytest.approx(1 / 501)
    assert found.interval == Interval(1.0, 1.0)


def test_equal_methods_differ_by_nothing():
    found = difference(A, A)
    assert (found.value, found.p, found.interval) == (0.0, 1.0, Interval(0.0, 0.0))


def test_other_problems_are_no_pair():
    with pytest.raises(ValueError, match=r"not both: \['f'\]"):
        difference(A, {name: B[name] for name in "abcde"})


def test_more_problems_than_patterns_can_be_tried_come_near_to_scipy():
    deltas = [((7 * i) % 11 - 4) / 10 for i in range(20)]
    known = stats.permutation_test(
        (deltas,), lambda x, axis: x.mean(axis=axis), permutation_type="samples",
        n_resamples=200_000, rng=1, vectorized=True,
    )  # fmt: skip
    found = difference(
        dict.fromkeys(map(str, range(20)), 0.0), dict(zip(map(str, range(20)), deltas, strict=True))
    )
    assert found.p == pytest.approx(known.pvalue, abs=0.02)


def test_holm_multiplies_by_what_is_left_and_keeps_the_order():
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
