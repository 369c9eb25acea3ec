"""The bound that no schedule beats, and that a run is measured against it."""

import pytest

from benchmarks import makespan
from benchmarks.makespan import Made, bound_of, drawn

SIGMA = 0.8


def test_the_times_have_mean_1_and_a_long_tail():
    times = sorted(drawn(seed, SIGMA) for seed in range(20_000))
    assert sum(times) / len(times) == pytest.approx(1, rel=0.02)
    assert times[-200] > 4.4  # a hundredth takes so long


def test_the_bound_is_that_of_the_sum_or_of_the_longest_chain():
    calls = [
        Made("p", 0, "solution", 0, 1),
        Made("p", 0, "verification", 0, 2),
        Made("p", 0, "verification", 0, 3),
        Made("p", 0, "summary", 0, 4),
        Made("p", 0, "solution", 1, 5),
        Made("p", 0, "experience", -1, 6),
        Made("p", 0, "guideline", -1, 7),
        Made("p", 1, "solution", 0, 8),
        Made("q", 0, "solution", 0, 9),
    ]
    t = {call.seed: drawn(call.seed, SIGMA) for call in calls}
    chain = max(t[1] + max(t[2], t[3]) + t[4], t[5]) + max(t[6], t[7]) + t[8]
    bound = bound_of(calls, 2, SIGMA)
    assert bound.chain == pytest.approx(max(chain, t[9]))
    assert bound.work == pytest.approx(sum(t.values()) / 2)
    assert bound.seconds == pytest.approx(max(bound.chain, bound.work))


@pytest.mark.early
def test_neither_a_run_nor_stages_beat_the_bound():
    size = ["--problems", "3", "-N", "2", "-M", "2", "-T", "1", "--capacity", "6"]
    found = makespan.main(size)
    assert found is not None
    assert found.calls == 3 * (2 * (1 + 2 + 1) + 2)
    assert found.bound < found.tmas
    assert found.bound < found.stages
