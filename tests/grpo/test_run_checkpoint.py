import os
from pathlib import Path

import pytest
import torch
from toy_run import tiny

from tmas_graph.errors import StorageError
from tmas_graph.grpo import checkpoint
from tmas_graph.grpo.checkpoint import TrainState
from tmas_graph.grpo.operation import OptimizerSettings
from tmas_graph.grpo.optimizing import learning_rate, optimizer_of
from tmas_graph.grpo.policy import Policy


def saved(step: int) -> checkpoint.Saved:
    policy = Policy(tiny())
    optimizer = optimizer_of(policy.parameters(), OptimizerSettings())
    return checkpoint.gather(policy, optimizer, TrainState(step=step, consumed=3 * step))


def test_the_newest_checkpoints_are_kept(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        checkpoint.write(tmp_path, saved(step), keep=2)
    assert sorted(place.name for place in tmp_path.iterdir()) == [
        "latest",
        "step-000002",
        "step-000003",
    ]
    place = checkpoint.latest(tmp_path)
    assert place == tmp_path / "step-000003"
    assert checkpoint.read(place).state == TrainState(step=3, consumed=9)


def test_what_a_longer_run_left_behind_is_never_taken_for_newer(tmp_path: Path) -> None:
    checkpoint.write(tmp_path, saved(4), keep=1)
    (tmp_path / "step-000004").rename(tmp_path / "step-000008")
    checkpoint.write(tmp_path, saved(5), keep=1)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["latest", "step-000005"]


@pytest.mark.parametrize("at", range(6))
def test_a_crash_at_any_sync_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Each fsync is a place where the disk may be full or the process may die."""
    checkpoint.write(tmp_path, saved(1), keep=2)
    synced = []

    def sync(handle: int) -> None:
        synced.append(handle)
        if len(synced) > at:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", sync)
    with pytest.raises(StorageError, match=r"can't be written \(No space left on device\)"):
        checkpoint.write(tmp_path, saved(2), keep=2)
    monkeypatch.undo()
    place = checkpoint.latest(tmp_path)
    assert place is not None
    assert checkpoint.read(place).state.step == (1 if at < 5 else 2)
    # The next one goes well, whatever was left behind.
    checkpoint.write(tmp_path, saved(2), keep=1)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["latest", "step-000002"]


def test_a_checkpoint_of_another_model_is_refused() -> None:
    other = Policy(torch.nn.Module.float(tiny()))
    kept = saved(1)
    del kept.tensors["weights"]["model.lm_head.weight"]
    optimizer = optimizer_of(other.parameters(), OptimizerSettings())
    with pytest.raises(StorageError, match=r"it is of another model .* model\.lm_head\.weight"):
        checkpoint.restore(other, optimizer, kept)


def test_a_torn_checkpoint_is_named_with_the_way_out(tmp_path: Path) -> None:
    place = checkpoint.write(tmp_path, saved(1), keep=1)
    (place / "training.pt").write_bytes(b"torn")
    with pytest.raises(StorageError, match=r"step-000001: can't be read as a checkpoint"):
        checkpoint.read(place)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("constant", [0.5, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("linear", [0.5, 1.0, 1.0, 0.7, 0.4, 0.1]),
        ("cosine", [0.5, 1.0, 1.0, 0.775, 0.325, 0.1]),
    ],
)
def test_the_learning_rate_rises_and_falls(schedule: str, rates: list[float]) -> None:
    values = {"learning_rate": 1.0, "warmup_steps": 2, "schedule": schedule, "least": 0.1}
    settings = OptimizerSettings.model_validate(values)
    found = [learning_rate(step, 6, settings) for step in range(6)]
    assert found == pytest.approx(rates)
