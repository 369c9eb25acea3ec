from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tmas_graph.errors import BudgetSpent
from tmas_graph.models.budget import Budget
from tmas_graph.settings import Settings
from tmas_graph.usage import Usage, summed

counts = st.integers(0, 1000)
usages = st.lists(st.builds(Usage, counts, counts, counts, cost=st.integers(0, 9)), max_size=8)
limits = st.none() | st.integers(1, 3000)


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@given(usages)
@examples(derandomize=True, deadline=None)
def test_what_is_charged_adds_up_in_every_budget_around(charged: list[Usage]) -> None:
    run = Budget()
    problems = [Budget(within=run), Budget(within=run)]
    for i, usage in enumerate(charged):
        problems[i % 2].charge(usage)
    assert run.spent == summed(charged)
    assert [p.spent for p in problems] == [summed(charged[i::2]) for i in (0, 1)]


@given(usages, limits, limits, limits)
@examples(derandomize=True, deadline=None)
def test_it_is_exhausted_from_the_first_limit_that_is_reached_on(
    charged: list[Usage], calls: int | None, tokens: int | None, cost: int | None
) -> None:
    budget = Budget(max_calls=calls, max_total_tokens=tokens, max_cost=cost)
    for usage, spent in zip(charged, accumulate(charged), strict=True):
        budget.charge(usage)
        pairs = ((spent.calls, calls), (spent.tokens, tokens), (spent.cost, cost))
        reached = any(limit is not None and value >= limit for value, limit in pairs)
        assert bool(budget.exhausted()) == reached


@pytest.mark.parametrize(
    ("limit", "usage", "said"),
    [
        ({"max_calls": 2}, Usage(2), "max_calls 2 is reached"),
        ({"max_total_tokens": 30}, Usage(1, 10, 20), "max_total_tokens 30 is reached"),
        ({"max_cost": 0.5}, Usage(cost=0.6), "max_cost 0.5 is reached"),
    ],
)
def test_a_check_says_which_limit_is_reached_and_what_to_do(
    limit: dict[str, Any], usage: Usage, said: str
) -> None:
    budget = Budget(**limit)
    budget.check()
    budget.charge(usage)
    with pytest.raises(BudgetSpent, match=rf"^budget: {said}\. Resume with more to go on\.$"):
        budget.check()


def test_the_run_around_a_problem_can_end_it() -> None:
    run = Budget(max_calls=3)
    one, other = Budget(max_calls=9, within=run), Budget(within=run)
    one.charge(Usage(3))
    assert other.exhausted() == "the run's max_calls 3 is reached"
    assert one.spent.calls < 9


def test_time_runs_from_the_start_and_earlier_sittings_count() -> None:
    clock = Clock()
    budget = Budget(max_seconds=10, clock=clock)
    assert budget.seconds_left == 10
    budget.carry(Usage(5), 4.0)
    assert (budget.seconds, budget.seconds_left, budget.spent) == (4.0, 6.0, Usage(5))
    clock.now += 6
    assert (budget.seconds_left, budget.exhausted()) == (0.0, "max_seconds 10 is reached")
    clock.now += 6
    assert budget.seconds_left == 0.0


def test_the_first_end_of_time_counts() -> None:
    clock = Clock()
    run = Budget(max_seconds=5, clock=clock)
    assert Budget(max_seconds=8, within=run, clock=clock).seconds_left == 5
    assert Budget(max_seconds=3, within=run, clock=clock).seconds_left == 3
    assert Budget(within=run, clock=clock).seconds_left == 5
    assert Budget(within=Budget(clock=clock), clock=clock).seconds_left is None


def test_what_is_carried_stays_within_the_problem() -> None:
    run = Budget(max_calls=5)
    budget = Budget(within=run)
    budget.carry(Usage(9), 3.0)
    assert run.spent == Usage()
    assert run.exhausted() == ""


def test_a_problems_limits_are_those_of_its_settings() -> None:
    given = Settings(max_calls=1, max_total_tokens=2, max_cost=3.0, max_seconds=4.0)
    budget = Budget.of(given)
    found = (budget.max_calls, budget.max_total_tokens, budget.max_cost, budget.max_seconds)
    assert found == (1, 2, 3.0, 4.0)
