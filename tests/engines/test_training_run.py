"""Whole training runs at a real vLLM: learned, killed, gone on with, by both ways of pushing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx2
import pytest

from engines import toy_task
from engines.process import VllmServer
from engines.training_run import EXACT, RANK, TrainingRun, vllm
from tmas_graph.grpo import checkpoint
from tmas_graph.grpo.checkpoint import TrainState
from tmas_graph.grpo.exporting import FINAL
from tmas_graph.grpo.run import train
from tmas_graph.grpo.settings_file import resolved
from tmas_graph.grpo.trainer import CHECKPOINTS

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]
STEPS, KILLED_AFTER, SAVED_EVERY = 20, 12, 5
WAYS: dict[str, dict[str, Any]] = {
    "lora": {"lora": {"rank": RANK, "alpha": 16.0}, "learning_rate": 2e-2},
    "disk": {"lora": "none", "learning_rate": 2e-3},
}
FIRST_REQUEST = "GET /v1/models"
"""Both ways of pushing begin with it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task, and in `cold` a run that has learned the form of its solutions."""
    folder = tmp_path_factory.mktemp("runs")
    toy_task.write(folder)
    train(
        resolved(
            {
                "mode": "sft",
                "out": str(folder / "cold"),
                "steps": 60,
                "data": {"train": str(folder / "cold_start.jsonl")},
                "model": {"model": str(folder / "untrained"), "lora": "none", **EXACT},
                "optimizer": {"learning_rate": 5e-3},
            },
            "cold start",
        )
    )
    return folder


@pytest.fixture(scope="module")
def engine(engine_home: Path, folder: Path) -> Iterator[VllmServer]:
    """A vLLM that serves what the cold start has left."""
    with vllm(engine_home, folder / "cold" / FINAL, folder, context=64) as server:
        yield server


def values(folder: Path, url: str, way: str) -> dict[str, Any]:
    """Settings of a run of the toy task."""
    return {
        "steps": STEPS,
        "data": {"train": str(folder / "train.parquet")},
        "model": {"model": str(folder / "cold" / FINAL), "lora": WAYS[way]["lora"]},
        "server": {"url": url, "push": way, "parity_bound": 1e-3, "timeout_seconds": 120.0},
        "sampling": {
            "groups": len(toy_task.rows()),
            "group_size": 16,
            "max_tokens": toy_task.LONGEST,
            "ahead": 0,
        },
        "novelty": {"min_words": 1},
        "optimizer": {"learning_rate": WAYS[way]["learning_rate"]},
        "checkpoints": {"every": SAVED_EVERY},
    }


@dataclass(frozen=True)
class Trained:
    """A run that was killed and has gone on to its end."""

    run: TrainingRun
    before: list[dict[str, Any]]
    """The steps that had been done when it was killed."""
    saved: TrainState
    """Where it stood at the checkpoint that it went on from."""
    requests: list[str]
    """What the server was asked from then on, in order."""


@pytest.fixture(scope="module", params=list(WAYS))
def trained(request: pytest.FixtureRequest, engine: VllmServer, folder: Path) -> Trained:
    way = request.param
    run = TrainingRun.written(folder / way, values(folder, engine.url, way))
    run.killed_after(KILLED_AFTER)
    before = run.records("train")
    place = checkpoint.latest(run.out / CHECKPOINTS)
    assert place is not None
    saved = checkpoint.read(place).state
    if way == "disk":
        # As a trainer leaves it that is killed amidst a push.
        httpx2.post(f"{engine.url}/pause?mode=wait", timeout=60).raise_for_status()
    logged = len(engine.log.read_text())
    run.finish("--resume")
    log = engine.log.read_text()[logged:]
    asked = re.findall(r'"([A-Z]+ [^ ?"]+)[^"]* HTTP/1.1"', log[log.index(FIRST_REQUEST) - 1 :])
    return Trained(run, before, saved, asked)


def test_the_server_has_the_trainers_weights_after_every_push(trained: Trained) -> None:
    pushes = trained.run.records("push")
    steps = trained.run.records("train")
    # A step without anything to learn from, as where all is right, makes no version.
    last = sum(bool(one["stepped"]) for one in steps)
    assert {one["version"] for one in pushes} == set(range(last + 1))
    assert max(one["difference"] for one in pushes) < 1e-3
    assert max(abs(one.get("mismatch_kl", 0)) for one in steps) < 1e-6


def test_the_reward_rises_by_every_part_of_it(trained: Trained) -> None:
    steps = trained.run.records("train")

    def risen(name: str) -> float:
        found = [one[name] for one in steps if name in one]
        return fmean(found[-5:]) - fmean(found[:5])

    assert risen("reward") > 0.6
    for mode in ("normal", "experience", "guideline"):
        assert risen(f"correct/{mode}") > 0.2
    assert risen("novelty/novel") > 0.05


def test_after_kill_9_it_goes_on_at_its_checkpoint_and_no_step_is_twice(trained: Trained) -> None:
    steps = trained.run.records("train")
    assert [one["step"] for one in steps] == list(range(1, STEPS + 1))
    saved = trained.saved.step
    assert 0 < saved <= len(trained.before) < STEPS
    assert saved % SAVED_EVERY == 0
    assert steps[:saved] == trained.before[:saved]
    assert steps[saved] != trained.before[saved]  # made anew, as its times tell


def test_the_policy_is_pushed_before_anything_is_drawn(trained: Trained) -> None:
    drawn = trained.requests.index("POST /v1/chat/completions")
    pushed = {"POST /v1/load_lora_adapter", "POST /collective_rpc"}
    assert pushed & set(trained.requests[:drawn])
    saved = trained.saved
    pushes = [one["version"] for one in trained.run.records("push") if one["step"] == saved.step]
    assert pushes == [saved.version] * 2  # before it was killed, and when it went on
    assert {one["version"] for one in trained.run.samples(saved.step + 1)} == {saved.version}


def test_all_that_was_drawn_is_kept_with_what_it_earned(trained: Trained) -> None:
    drawn = [one for step in range(1, STEPS + 1) for one in trained.run.samples(step)]
    assert len(drawn) == STEPS * len(toy_task.rows()) * 16
    guided = [one for one in drawn if one["mode"] == "guideline" and one["correct"]]
    assert {one["novelty"]: one["reward"] for one in guided} == {"novel": 1.5, "listed": -0.5}
    hinted = [one for one in drawn if one["mode"] == "experience" and one["correct"]]
    assert all(one["reward"] == 1 + 0.5 * (1 - one["p0"]) for one in hinted)
