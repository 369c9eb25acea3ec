"""Whole runs on a toy task: the answer is a symbol, and a hint in the bank gives it away."""

from pathlib import Path
from statistics import fmean

from safetensors.torch import load_file
from toy_run import PROBLEMS, TOOLS, policy_server, prepared, row, write_rows

from tmas_graph.grpo import metrics
from tmas_graph.grpo.interfaces import Tools
from tmas_graph.grpo.run import Surroundings, train
from tmas_graph.grpo.samples import Rate


def records(folder: Path, kind: str) -> list[dict]:
    return [one for one in metrics.read(folder / "run") if one["kind"] == kind]


def test_the_reward_rises_within_forty_steps(tmp_path: Path) -> None:
    held_out = write_rows(tmp_path / "held.parquet", [row(p, "experience") for p in PROBLEMS[:2]])
    settings = prepared(
        tmp_path,
        steps=40,
        data__held_out=str(held_out),
        sampling__groups=8,
        sampling__group_size=16,
        evaluation={"every": 20, "samples": 8},
        checkpoints__every=40,
    )
    state = train(settings, Surroundings(TOOLS, policy_server().opened))
    steps = records(tmp_path, "train")
    assert state.step == len(steps) == 40
    rewards = [one["reward"] for one in steps]
    assert fmean(rewards[-5:]) > fmean(rewards[:5]) + 0.5
    held = records(tmp_path, "held_out")
    assert [one["step"] for one in held] == [0, 20, 40]
    assert held[-1]["pass@1/experience"] > held[0]["pass@1/experience"]
    # The server has the trainer's weights after each push, and is told each version once.
    pushes = records(tmp_path, "push")
    assert [one["version"] for one in pushes] == list(range(state.version + 1))
    assert max(one["difference"] for one in pushes) < 1e-4
    # Nothing is drawn ahead: samples are of the policy itself.
    assert max(one["staleness"] for one in steps) == 0
    assert max(one["mismatch_kl"] for one in steps) < 1e-6


def test_what_is_drawn_ahead_is_one_version_old_at_most(tmp_path: Path) -> None:
    settings = prepared(tmp_path, steps=6, sampling__ahead=1)
    train(settings, Surroundings(TOOLS, policy_server().opened))
    steps = records(tmp_path, "train")
    assert 0 < max(one["staleness"] for one in steps) <= 1
    assert sum(one["dropped/stale"] for one in steps) == 0


def test_what_is_trained_is_left_in_a_folder(tmp_path: Path) -> None:
    settings = prepared(tmp_path, steps=1)
    train(settings, Surroundings(TOOLS, policy_server().opened))
    [file] = (tmp_path / "run/final").glob("*.safetensors")
    assert load_file(file).keys() == load_file(tmp_path / "model/model.safetensors").keys()
    assert "[loss]" in (tmp_path / "run/settings.toml").read_text()


def test_tmas_is_tried_with_the_policy_where_that_is_due(tmp_path: Path) -> None:
    held_out = write_rows(tmp_path / "held.parquet", [row("a"), row("a", "experience"), row("b")])
    asked = []

    async def try_tmas(served, rows, step):
        asked.append((served.version, [one.problem for one in rows], step))
        return {"pass@1/iteration_1": Rate(1, 2)}

    tools = Tools(TOOLS.grader, TOOLS.similarity, None, try_tmas)
    settings = prepared(
        tmp_path,
        steps=3,
        data__held_out=str(held_out),
        evaluation={"every": 2, "tmas_every": 2, "samples": 1},
    )
    train(settings, Surroundings(tools, policy_server().opened))
    assert [(problems, step) for _, problems, step in asked] == [
        (["a", "b"], 0),
        (["a", "b"], 2),
        (["a", "b"], 3),
    ]
    assert [one["pass@1/iteration_1"] for one in records(tmp_path, "tmas")] == [0.5] * 3


def test_several_updates_on_the_same_groups_clip(tmp_path: Path) -> None:
    settings = prepared(tmp_path, steps=4, updates=4, loss={"clip_low": 0.01, "clip_high": 0.01})
    train(settings, Surroundings(TOOLS, policy_server().opened))
    steps = [one for one in records(tmp_path, "train") if one["stepped"]]
    assert max(one["clip/high"] + one["clip/low"] for one in steps) > 0
