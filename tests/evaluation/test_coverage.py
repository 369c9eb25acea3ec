"""Intervals hold what they promise: simulated from known truths, with fixed seeds."""

from math import sqrt

import numpy as np
import pytest

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.metrics import Counts, Try, wilson
from tmas_graph.evaluation.paired import difference

NOMINAL = (0.92, 0.98)
UNCOUNTED = Counts(0, 0, 0, 0, 0, 0, 0)


def share_holding(pairs):
    """How many of the (truth, interval) pairs agree."""
    return np.mean([interval.low <= truth <= interval.high for truth, interval in pairs])


@pytest.mark.parametrize("n", [10, 50])
def test_wilsons_interval_covers_the_truth(n):
    generator = np.random.default_rng(1)
    truths = generator.uniform(0, 1, 4000)
    held = share_holding(
        (truth, wilson(int(hits), n))
        for truth, hits in zip(truths, generator.binomial(n, truths), strict=True)
    )
    assert NOMINAL[0] <= held <= NOMINAL[1]


@pytest.mark.parametrize("problems", [10, 50])
@pytest.mark.parametrize(("right", "wrong"), [(2, 2), (0.7, 1.5), (1, 4)])
def test_the_clustered_interval_covers_the_truth_where_tries_are_correlated(right, wrong, problems):
    generator = np.random.default_rng(2)
    truth, naive = right / (right + wrong), []

    def drawn():
        """One evaluation: problems, each with a chance of its own, 32 tries at each."""
        hits = generator.binomial(32, generator.beta(right, wrong, size=problems))
        value = hits.sum() / (32 * problems)
        naive.append(abs(value - truth) <= 1.96 * sqrt(value * (1 - value) / (32 * problems)))
        values = {str(place): count / 32 for place, count in enumerate(hits)}
        return metrics.figure(values, UNCOUNTED).interval

    held = share_holding((truth, drawn()) for _ in range(1500))
    assert NOMINAL[0] <= held <= NOMINAL[1]
    assert np.mean(naive) < 0.75  # the binomial over all tries promises far too much


def test_tries_go_into_the_interval_as_their_shares_do():
    tries = {str(p): [Try("correct")] * p + [Try("incorrect")] * (32 - p) for p in range(9)}
    direct = metrics.figure({name: int(name) / 32 for name in tries}, UNCOUNTED)
    assert metrics.pass_at(tries).interval == direct.interval


@pytest.mark.parametrize(
    ("problems", "low", "high"),
    [(5, 0.80, 0.90), (10, 0.86, 0.93), (20, 0.90, 0.97), (50, *NOMINAL)],
)
def test_the_interval_of_a_difference_covers_the_truth_with_enough_problems(problems, low, high):
    """As docs/how-to/compare.md warns: it is too narrow for few."""
    generator = np.random.default_rng(3)

    def drawn():
        chances = generator.beta(2, 2, size=problems)
        better = np.clip(chances + 0.1, 0, 1)
        both = [generator.binomial(8, each) / 8 for each in (chances, better)]
        first, second = ({str(p): v for p, v in enumerate(values)} for values in both)
        return float(np.mean(better - chances)), difference(first, second, resamples=2000).interval

    assert low <= share_holding(drawn() for _ in range(600)) <= high


def test_equal_methods_are_seldom_found_to_differ():
    generator = np.random.default_rng(4)
    low = []
    for _ in range(600):
        chances = generator.beta(2, 2, size=30)
        both = [generator.binomial(8, chances) / 8 for _ in range(2)]
        first, second = ({str(p): v for p, v in enumerate(values)} for values in both)
        low.append(difference(first, second, resamples=1000).p <= 0.05)
    assert 0.02 <= np.mean(low) <= 0.08
