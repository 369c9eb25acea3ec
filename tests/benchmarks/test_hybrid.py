"""The toy task: what it asks for, and what both rewards give for it."""

from pathlib import Path
from statistics import fmean

import pytest

from benchmarks import hybrid, hybrid_plot, hybrid_task
from tmas_graph.grpo.rows import read


def test_half_of_the_banks_are_right_and_no_problem_is_met_twice(tmp_path: Path) -> None:
    hybrid_task.write(tmp_path / "train.parquet", 800, seed=0)
    rows = read(tmp_path / "train.parquet")
    assert len({row.problem for row in rows}) == 800
    by_source = {one: [row for row in rows if row.source == one] for one in ("normal", "guideline")}
    assert [len(found) for found in by_source.values()] == [200, 200]
    banked = [row for row in rows if row.source == "experience"]
    followed = 0
    for row in banked:
        prompt = row.prompt[-1]["content"]
        right = [hybrid_task.follows_bank(prompt, "A" + row.ground_truth)]
        right.append(hybrid_task.follows_rule(row.problem, "A" + row.ground_truth))
        assert sum(right) == 1
        followed += right[0]
    assert followed == len(banked) / 2


def test_right_is_a_strategy_and_the_digit() -> None:
    grader = hybrid_task.TOOLS.grader
    assert grader("A2", "2")
    assert not any(grader(text, "2") for text in ("A3", "22", "A", "2", "", "aA2"))


@pytest.mark.training
def test_what_the_bank_and_unlisted_strategies_earn_reaches_the_trainer(tmp_path: Path) -> None:
    plan, earned = hybrid.Plan(tmp_path, 16), dict[str, float]()
    for preset in hybrid.PRESETS:
        found = hybrid.trained(plan, preset, seed=0)
        assert found.keys() == hybrid.MEASURES.keys()
        records = hybrid._records(tmp_path / f"{preset}-0" / "run", 0, plan.steps)
        right = [one for one in records if one["correct"]]
        banked = [one["reward"] for one in right if one["mode"] == "experience"]
        earned[preset] = fmean(banked)
        guided = {one["novelty"]: one["reward"] for one in right if one["mode"] == "guideline"}
        assert (
            guided
            == {
                "hybrid": {"novel": 1.5, "listed": -0.5},
                "vanilla": {"novel": 1.0, "listed": 1.0},
            }[preset]
        )
    assert earned["hybrid"] / earned["vanilla"] > 1.3


def test_the_course_of_all_runs_is_drawn(tmp_path: Path) -> None:
    runs = [{name: [0.1 * at for at in range(9)] for name in hybrid.MEASURES}] * 2
    hybrid_plot.draw({"hybrid": runs, "vanilla": runs}, 300, tmp_path / "course.svg")
    assert (tmp_path / "course.svg").read_text().count("<svg") == 1
    assert hybrid.table({"hybrid": runs, "vanilla": runs}).row_count == len(hybrid.MEASURES)
