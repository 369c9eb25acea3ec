"""The toy task: what it asks for, and what both rewards give for it."""

import json
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks import hybrid, hybrid_plot, hybrid_task
from tmas_graph.grpo.rows import read


def test_each_bank_is_asked_twice_in_a_step_and_right_once(tmp_path: Path) -> None:
    hybrid_task.write(tmp_path / "train.parquet", 600, seed=0)
    rows = read(tmp_path / "train.parquet")
    six = ["normal", *["guideline"] * 3, *["experience"] * 2]
    assert [row.source for row in rows] == six * 100
    assert len({row.problem for row in rows}) == 500
    for told, ruled in zip(rows[4::6], rows[5::6], strict=True):
        assert told.prompt == ruled.prompt
        prompt = told.prompt[-1]["content"]
        assert hybrid_task.follows_bank(prompt, "A" + told.ground_truth)
        assert hybrid_task.follows_rule(ruled.problem, "A" + ruled.ground_truth)
        assert told.ground_truth != ruled.ground_truth


def test_what_is_taught_is_right_and_of_other_problems(tmp_path: Path) -> None:
    hybrid_task.write(tmp_path / "train.parquet", 600, seed=0)
    hybrid_task.teach(tmp_path / "train.jsonl", 1200, seed=0)
    lines = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    prompts = [line["prompt"][-1]["content"] for line in lines]
    met = {row.prompt[-1]["content"] for row in read(tmp_path / "train.parquet")}
    assert not met & set(prompts)
    followed = 0
    for prompt, line in zip(prompts, lines, strict=True):
        by_bank = prompt[0] == "=" and hybrid_task.follows_bank(prompt, line["completion"])
        problem = prompt.lstrip("=!ABCD0123")
        assert by_bank or hybrid_task.follows_rule(problem, line["completion"])
        followed += by_bank
    assert followed == 200
    guided = [
        (prompt, line["completion"][0])
        for prompt, line in zip(prompts, lines, strict=True)
        if prompt[0] == "!"
    ]
    assert 0.7 < sum(strategy in prompt for prompt, strategy in guided) / len(guided) < 0.8


def test_a_run_that_would_meet_a_problem_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"12000 rows need 10000 problems, .* fewer steps"):
        hybrid_task.write(tmp_path / "train.parquet", 12_000, seed=0)


def test_right_is_a_strategy_and_the_digit() -> None:
    grader = hybrid_task.TOOLS.grader
    assert grader("A2", "2")
    assert not any(grader(text, "2") for text in ("A3", "22", "A", "2", "", "aA2"))


@pytest.mark.training
def test_what_the_bank_and_unlisted_strategies_earn_reaches_the_trainer(tmp_path: Path) -> None:
    plan, earned = hybrid.Plan(tmp_path, 16), dict[str, float]()
    policy = hybrid.taught(plan, seed=0)
    for preset in hybrid.PRESETS:
        found = hybrid.trained(plan, preset, 0, policy)
        assert found.keys() == hybrid.MEASURES.keys()
        records = list(hybrid._records(tmp_path / f"{preset}-0" / "run", 0, plan.steps))
        right = [one for one in records if one["correct"]]
        earned[preset] = fmean(one["reward"] for one in right if one["mode"] == "experience")
        guided = {one["novelty"]: one["reward"] for one in right if one["mode"] == "guideline"}
        assert (
            guided
            == {
                "hybrid": {"novel": 1.5, "listed": -0.5},
                "vanilla": {"novel": 1.0, "listed": 1.0},
            }[preset]
        )
    assert earned["hybrid"] / earned["vanilla"] > 1.2


def test_the_course_of_all_runs_is_drawn(tmp_path: Path) -> None:
    runs = [{name: [0.1 * at for at in range(9)] for name in hybrid.MEASURES}] * 2
    hybrid_plot.draw({"hybrid": runs, "vanilla": runs}, 300, tmp_path / "course.svg")
    assert (tmp_path / "course.svg").read_text().count("<svg") == 1
    assert hybrid.table({"hybrid": runs, "vanilla": runs}).row_count == len(hybrid.MEASURES)
