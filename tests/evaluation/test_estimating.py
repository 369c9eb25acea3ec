from math import sqrt

import pytest

from tmas_graph import Settings
from tmas_graph.call_sums import Pace
from tmas_graph.errors import SettingsError
from tmas_graph.evaluation.entrants import entrants
from tmas_graph.evaluation.estimating import Amount, estimates, total
from tmas_graph.evaluation.run_rows import Row, Selected
from tmas_graph.usage import Usage

GIVEN = Settings(base_url="http://127.0.0.1:1/v1", candidates=2, verifications=2, iterations=2)
TMAS = entrants(["tmas"], GIVEN)


def row(problem: str, calls: int, *, iteration: int = 0, stop: str | None = "iterations") -> Row:
    spent = Usage(calls=calls, prompt_tokens=10 * calls, completion_tokens=5 * calls, cost=0.5)
    return Row(
        problem,
        "tmas",
        iteration,
        (),
        Selected("1", "correct", 1.0),
        spend={"solution": spent},
        seconds=2.0,
        stop=stop,
    )


def test_what_is_left_is_like_what_was_measured():
    measured = [row("p1", 8), row("p2", 6, stop=None), row("p2", 6, iteration=1)]
    [one] = estimates(measured, TMAS, 100)
    assert (one.measured, one.problems) == (2, 100)
    assert one.calls.value == 20 + 98 * 10
    deviation = sqrt((8 - 10) ** 2 + (12 - 10) ** 2)
    assert one.calls.spread == pytest.approx(1.96 * deviation * sqrt(98 + 98**2 / 2))
    assert one.tokens.value == 15 * one.calls.value
    assert one.cost.value == pytest.approx(0.5 + 1.0 + 98 * 0.75)
    assert one.most_calls == 100 * 2 * (2 * 3 + 2 + 2)
    assert one.tokens_by_role == {"solution": 15.0}
    assert one.longest == 4.0


def test_of_one_problem_no_spread_is_known_save_where_nothing_is_left():
    assert estimates([row("p1", 8)], TMAS, 10)[0].calls == Amount(80, None)
    assert estimates([row("p1", 8)], TMAS, 1)[0].calls == Amount(8, 0.0)


def test_failed_and_unfinished_problems_are_not_measured():
    unfinished = row("p2", 100, stop=None)
    assert estimates([row("p1", 8), unfinished], TMAS, 10)[0].measured == 1
    with pytest.raises(SettingsError, match="no problem came through with tmas"):
        estimates([unfinished], TMAS, 10)


def test_hours_come_from_the_length_of_calls_and_how_many_are_in_flight():
    [one] = estimates([row("p1", 8), row("p2", 12)], TMAS, 100)
    whole = total([one, one], Pace(requests=20, seconds=60.0), 50)
    assert whole.per_call == 3.0
    assert whole.seconds == 2 * 1000 * 3.0 / 50
    assert whole.calls.spread == pytest.approx(sqrt(2) * one.calls.spread)


def test_a_run_takes_no_less_than_its_longest_problem():
    [one] = estimates([row("p1", 8)], TMAS, 2)
    assert total([one], Pace(8, 8.0), 1000).seconds == 2.0
    assert total([one], Pace(0, 0.0), 1000).seconds is None
