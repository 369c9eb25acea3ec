import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.ranking import (
    LAMBDA,
    Floats,
    Ranked,
    by_distance,
    diverse,
    matrix,
    relevance,
)
from tmas_graph.memory.rows import Row


def units(rows: int, seed: int) -> Floats:
    found = np.random.default_rng(seed).normal(size=(rows, 6))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def ranked(scores: list[float], vectors: Floats, costs: list[int] | None = None) -> Ranked:
    return Ranked(np.array(scores), vectors, np.array(costs or [1] * len(scores)))


def slowly(given: Ranked, budget: int, weight: float = LAMBDA) -> list[int]:
    """The definition, read aloud."""
    taken: list[int] = []
    while True:
        fits = [i for i in range(len(given.scores)) if i not in taken and given.costs[i] <= budget]
        if not fits:
            return taken

        def value(i: int) -> float:
            alike = [round(float(given.vectors[i] @ given.vectors[j]), 6) for j in taken]
            return float(weight * given.scores[i] - (1 - weight) * max([0.0, *alike]))

        best = max(fits, key=lambda i: (value(i), -i))
        taken.append(best)
        budget -= int(given.costs[best])


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(1, 9)), min_size=1, max_size=12),
    st.integers(0, 40),
    st.integers(0, 99),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_the_fast_choice_is_the_slow_one(
    rows: list[tuple[int, int]], budget: int, seed: int
) -> None:
    scores, costs = [s / 10 for s, _ in rows], [c for _, c in rows]
    given = ranked(scores, units(len(rows), seed), costs)
    chosen = diverse(given, budget)
    assert chosen == slowly(given, budget)
    assert sum(costs[i] for i in chosen) <= budget


def test_what_is_like_one_taken_before_counts_less() -> None:
    same, other = [1.0, 0.0], [0.0, 1.0]
    given = ranked([0.9, 0.8, 0.6], matrix([same, same, other]))
    assert diverse(given, 2) == [0, 2]
    assert diverse(given, 2, 1.0) == [0, 1]


def test_one_that_does_not_fit_makes_room_for_a_shorter_one() -> None:
    given = ranked([0.9, 0.8, 0.1], units(3, 0), [5, 9, 3])
    assert diverse(given, 8) == [0, 2]
    assert diverse(given, 2) == []


def test_ties_go_to_the_first() -> None:
    given = ranked([0.5] * 3, matrix([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]))
    assert diverse(given, 3) == [0, 1, 2]


def test_the_nearest_of_what_is_wanted_counts() -> None:
    vectors = matrix([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert relevance(vectors, matrix([[1.0, 0.0], [0.0, 1.0]])).tolist() == [1.0, 1.0, 0.8]
    assert relevance(vectors, matrix([[-1.0, 0.0]])).tolist() == [-1.0, 0.0, -0.6]
    assert relevance(vectors, matrix([])).tolist() == [0.0, 0.0, 0.0]


def test_rows_come_by_distance_as_computed_one_by_one_and_equal_ones_by_id():
    draws = np.random.default_rng(1).normal(size=(50, 8))
    rows = [Row(f"id{i:02}", "t", {"n": i}, draw.tolist()) for i, draw in enumerate(draws)]
    rows += [Row("twin", "t", {"n": 50}, rows[7].vector)]
    asked = rows[7].vector

    def distance(row: Row) -> float:
        one, other = np.asarray(row.vector), np.asarray(asked)
        return round(float(1 - one @ other / np.linalg.norm(one) / np.linalg.norm(other)), 6)

    found = by_distance(asked, reversed(rows))
    assert [row.id for row in found] == [
        row.id for row in sorted(rows, key=lambda row: (distance(row), row.id))
    ]
    assert [row.id for row in found[:2]] == ["id07", "twin"]
    assert found[0].distance == pytest.approx(0, abs=1e-6)
