"""The toy task: what it asks for, and that the hybrid reward does what it is for."""

from pathlib import Path

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
@pytest.mark.timeout(900)
def test_hybrid_uses_the_bank_and_what_isnt_listed_more_than_vanilla(tmp_path: Path) -> None:
    steps = 200
    found = hybrid.all_trained(hybrid.Plan(tmp_path, steps), seeds=1)
    [hybrid_run], [vanilla_run] = found.values()
    ends = {name: (hybrid_run[name][-1], vanilla_run[name][-1]) for name in hybrid.MEASURES}
    for name in ("answers as the bank says", "novel, of right ones"):
        own, other = ends[name]
        assert own / other > 1.3, ends
    for name in ("right, by the rule alone", "right, with a bank", "right, under guidelines"):
        own, other = ends[name]
        assert own == pytest.approx(other, abs=0.2), ends
    hybrid_plot.draw(found, steps, tmp_path / "course.svg")
    assert (tmp_path / "course.svg").read_text().count("<svg") == 1
