"""The toy task: what it asks for, and that the hybrid reward does what it is for."""

from pathlib import Path

import pytest

from benchmarks import hybrid_task
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
    assert followed / len(banked) == pytest.approx(0.5, abs=0.06)


def test_right_is_a_strategy_and_the_digit() -> None:
    grader = hybrid_task.TOOLS.grader
    assert grader("A2", "2")
    assert not any(grader(text, "2") for text in ("A3", "22", "A", "2", "", "aA2"))
