"""p0, counted by hand."""

from pathlib import Path
from typing import Any

import pytest
from runs_made import rows

from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.planning import fresh
from tmas_graph.evaluation.problem_set import ProblemSource
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.methods import METHODS
from tmas_graph.settings import Settings
from tmas_graph.state import Problem
from tmas_graph.training_data.pass_rates import PassRate, begins_bare, counted
from tmas_graph.training_data.recorded import Recorded

QUESTIONS = {"a": "What is a?", "b": "What is b?"}


def recorded(made: list[Row], folder: str = "one", **changes: Any) -> Recorded:
    """A run with these rows, of methods that draw with the run's seed."""
    problems = {name: Problem(text, name) for name, text in QUESTIONS.items()}
    found = Dataset("made", "1", tuple(problems.values()), {})
    methods = list(dict.fromkeys(row.method for row in made))
    settings = Settings(base_url="http://127.0.0.1:9/v1", model="m", **changes)
    plan = fresh(ProblemSource("made"), found, list(problems), methods, settings)
    return Recorded(Path(folder), plan, problems, {}, tuple(made))


def rates(*runs: Recorded, model: str | None = None) -> dict[str, tuple[int, int]]:
    return {q: (r.correct, r.rollouts) for q, r in counted(runs, model).rates.items()}


def test_the_first_iteration_of_tmas_counts_and_later_ones_do_not() -> None:
    run = recorded(rows("tmas", {"a": ["+x.", "+++"], "b": ["xx~", "+++"]}))
    assert rates(run) == {"What is a?": (1, 3), "What is b?": (0, 3)}


def test_what_is_ungraded_or_failed_does_not_count() -> None:
    found = counted([recorded(rows("self-consistency", {"a": ["+?!x"]}))])
    assert found.rates == {"What is a?": PassRate(1, 2)}
    assert found.left_out == {"graded as unsure": 1, "graded as error": 1}
    assert found.rates["What is a?"].p0 == 0.5


def test_a_problem_none_of_whose_rollouts_counts_has_no_pass_rate() -> None:
    assert rates(recorded(rows("self-consistency", {"a": ["?!"]}))) == {}


def test_methods_that_drew_with_the_same_seed_are_counted_once() -> None:
    made = [*rows("best-of-n", {"a": ["+x"]}), *rows("self-consistency", {"a": ["+x+x"]})]
    found = counted([recorded(made)])
    assert found.rates == {"What is a?": PassRate(2, 4)}
    assert found.by_method == {"best-of-n": 2, "self-consistency": 2}
    assert found.left_out == {"the same draw, recorded again": 2}


@pytest.mark.parametrize(
    "changes", [{"seed": 1}, {"temperature": 0.5}, {"send_seed": False}, {"max_tokens": 9}], ids=str
)
def test_other_draws_of_another_run_count_too(changes: dict[str, Any]) -> None:
    made = rows("self-consistency", {"a": ["+x"]})
    first, second = recorded(made), recorded(made, "two", **changes)
    assert rates(first, second) == {"What is a?": (2, 4)}
    assert rates(first, recorded(made, "three")) == {"What is a?": (1, 2)}


def test_a_draw_that_failed_in_one_run_counts_where_it_came_through() -> None:
    first = recorded(rows("self-consistency", {"a": ["!x"]}))
    second = recorded(rows("self-consistency", {"a": ["+x"]}), "two")
    assert rates(first, second) == {"What is a?": (1, 2)}


def test_the_rollouts_of_one_model_can_be_counted_alone() -> None:
    made = rows("self-consistency", {"a": ["+x"]})
    assert rates(recorded(made), model="m") == {"What is a?": (1, 2)}
    assert rates(recorded(made), model="n") == {}


def test_methods_that_do_not_begin_with_the_problem_alone_are_left_out() -> None:
    assert {name for name in METHODS if not begins_bare(name)} == {
        "tree-of-thoughts",
        "verify-refine",
        "solve-verify-correct",
        "marsrl",
    }
    assert begins_bare("best-of-n[candidates=3]")
    made = rows("verify-refine", {"a": ["++"]})
    assert rates(recorded(made)) == {}
