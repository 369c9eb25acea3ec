"""SmolLM2 with an adapter, from a recorded run to a trained policy, all of it at a real vLLM."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs_on_script import begun
from safetensors.torch import load_file

from engines.process import VllmServer
from engines.training_run import NAME, RANK, TrainingRun, vllm
from tmas_graph import Settings
from tmas_graph.grpo import checkpoint
from tmas_graph.grpo.exporting import FINAL
from tmas_graph.grpo.rows import SOURCES, read
from tmas_graph.grpo.trainer import CHECKPOINTS
from tmas_graph.models import pool

pytestmark = [pytest.mark.vllm, pytest.mark.training, pytest.mark.timeout(600)]
PROBLEMS = {"What is 3+4?": "7", "What is 2+2?": "4", "What is 5+5?": "10"}
"""Easy ones: where all completions are wrong, there is nothing to learn."""
PLAIN = {"enable_thinking": False}
STEPS, GROUPS, GROUP_SIZE = 2, 3, 4
MAX_TOKENS = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture(scope="module")
def engine(engine_home: Path, folder: Path) -> Iterator[VllmServer]:
    """A vLLM that serves SmolLM2, and adapters of it."""
    with vllm(engine_home, engine_home.absolute() / "model", folder, context=1024) as server:
        yield server


def recorded(folder: Path, url: str) -> Path:
    """A run of TMAS in which the model is its own teacher."""
    lines = [
        {"problem_id": f"p{place}", "question": question, "answer": gold}
        for place, (question, gold) in enumerate(PROBLEMS.items())
    ]
    file = folder / "problems.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = Settings(
        base_url=f"{url}/v1",
        model=NAME,
        prompt_set="small",
        candidates=2,
        verifications=1,
        iterations=2,
        epsilon=0.5,
        mode_draws="stratified",
        early_stop=False,
        max_tokens=MAX_TOKENS,
        extra_body={"chat_template_kwargs": PLAIN},
    )

    async def run() -> None:
        try:
            await begun(folder / "recorded", file, given, ("tmas",))
        finally:
            await pool.close()

    asyncio.run(run())
    return folder / "recorded"


def data(folder: Path, run: Path) -> Path:
    """What `tmas train data` makes of the run."""
    options = ("--difficulty", "0", "1", "--min-rollouts", "1", "--held-out", "0")
    command = ("train", "data", str(run), "--out", str(folder / "data"), *options)
    subprocess.run([sys.executable, "-m", "tmas_graph", *command], check=True)
    return folder / "data" / "train.parquet"


def values(model: Path, train: Path, url: str) -> dict[str, Any]:
    return {
        "steps": STEPS,
        "data": {"train": str(train)},
        "model": {"model": str(model), "lora": {"rank": RANK, "alpha": 16.0}},
        "server": {"url": url, "push": "lora", "parity_bound": 1e-3, "timeout_seconds": 300.0},
        "sampling": {
            "groups": GROUPS,
            "group_size": GROUP_SIZE,
            "max_tokens": MAX_TOKENS,
            "temperature": 0.8,
            "template": PLAIN,
        },
        "optimizer": {"learning_rate": 1e-4},
        "checkpoints": {"every": 2},
    }


@pytest.fixture(scope="module")
def train(engine: VllmServer, folder: Path) -> Path:
    """The data to train on."""
    return data(folder, recorded(folder, engine.url))


@pytest.fixture(scope="module")
def trained(engine_home: Path, engine: VllmServer, folder: Path, train: Path) -> TrainingRun:
    given = values(engine_home.absolute() / "model", train, engine.url)
    run = TrainingRun.written(folder / "trained", given, threads=2)
    run.finish()
    return run


def test_the_data_is_of_the_problems_that_were_recorded(train: Path) -> None:
    rows = read(train)
    assert {row.question: row.ground_truth for row in rows} == PROBLEMS
    assert {row.source for row in rows} == set(SOURCES)


def test_the_adapter_is_pushed_after_each_step_and_agrees(trained: TrainingRun) -> None:
    steps, pushes = trained.records("train"), trained.records("push")
    assert [one["step"] for one in steps] == list(range(1, STEPS + 1))
    learned = sum(bool(one["stepped"]) for one in steps)
    assert learned > 0
    assert [one["version"] for one in pushes] == list(range(learned + 1))
    assert max(one["difference"] for one in pushes) < 1e-3


def test_what_was_drawn_is_kept(trained: TrainingRun) -> None:
    for step in range(1, STEPS + 1):
        drawn = trained.samples(step)
        assert len(drawn) == GROUPS * GROUP_SIZE
        assert {one["ground_truth"] for one in drawn} <= set(PROBLEMS.values())
        assert len({one["completion"] for one in drawn}) > 1


def test_the_run_is_saved_and_its_adapter_can_be_loaded(trained: TrainingRun) -> None:
    place = checkpoint.latest(trained.out / CHECKPOINTS)
    assert place is not None
    assert checkpoint.read(place).state.step == STEPS
    weights = load_file(trained.out / FINAL / "adapter_model.safetensors")
    risen = [weight for name, weight in weights.items() if "lora_B" in name]  # begins as zeros
    assert len(risen) == 30 * 7
    assert all(float(weight.abs().max()) > 0 for weight in risen)
