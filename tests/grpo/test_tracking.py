"""Trackers beside metrics.jsonl: the real packages where they are small, else one in its place."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tmas_graph.errors import MissingExtra, SettingsError
from tmas_graph.grpo import tracking
from tmas_graph.grpo.metrics import Metrics
from tmas_graph.grpo.run import train
from tmas_graph.grpo.samples import Rate
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.settings_file import resolved

ROOT = Path(__file__).parents[2]
NAMES = ("tensorboard", "wandb", "trackio")


def to(folder: Path, *names: str) -> RunSettings:
    given: dict[str, Any] = {"out": str(folder / "run"), "log": {"to": list(names)}}
    given |= {"data": {"train": str(folder / "none.parquet")}, "model": {"model": "none"}}
    (folder / "run").mkdir(exist_ok=True)
    return resolved(given, "test")


def logged(settings: RunSettings) -> None:
    """A sitting of three steps, and another one that makes the third again."""
    for first, steps in ((True, (1, 2, 3)), (False, (3, 4))):
        metrics = Metrics(settings.out, tracking.trackers_of(settings))
        if not first:
            metrics.forget_after(2)
        for step in steps:
            metrics.log(step, "train", {"reward": Rate(step if first else 10 * step, 2)})
            metrics.log(step, "held_out", {"pass@1/normal": 0.25})
        metrics.close()


def test_tensorboard_has_the_numbers_of_the_last_sitting(tmp_path: Path) -> None:
    settings = to(tmp_path, "tensorboard")
    logged(settings)
    found = EventAccumulator(str(settings.out / "tensorboard")).Reload()
    assert sorted(found.Tags()["scalars"]) == ["held_out/pass@1/normal", "reward"]
    rewards = [(one.step, one.value) for one in found.Scalars("reward")]
    assert rewards == [(1, 0.5), (2, 1.0), (3, 15.0), (4, 20.0)]


def test_trackio_has_both_sittings_as_one_run(tmp_path: Path) -> None:
    pytest.importorskip("trackio")
    # In a process of its own: it finds its folder when it is imported, and leaves threads.
    script = f"from grpo import test_tracking\ntest_tracking.trackio({str(tmp_path)!r})"
    environment = {**os.environ, "TRACKIO_DIR": str(tmp_path / "kept")}
    paths = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    subprocess.run(
        [sys.executable, "-c", script],
        env={**environment, "PYTHONPATH": paths},
        capture_output=True,
        check=True,
        timeout=120,
    )
    with closing(sqlite3.connect(tmp_path / "kept" / "tmas.db")) as kept:
        rows = kept.execute("SELECT run_name, step, metrics FROM metrics ORDER BY id").fetchall()
    [name] = {name for name, _, _ in rows}
    assert name.startswith("run-")
    told = [(step, json.loads(values)) for _, step, values in rows]
    assert [step for step, _ in told] == [1, 1, 2, 2, 3, 3, 3, 3, 4, 4]
    assert told[:2] == [(1, {"reward": 0.5}), (1, {"held_out/pass@1/normal": 0.25})]


def trackio(folder: str) -> None:
    """Run in a process of its own."""
    logged(to(Path(folder), "trackio"))


class Hosted:
    """In the place of wandb, with those of its functions that are called."""

    def __init__(self) -> None:
        self.begun: list[dict[str, Any]] = []
        self.logged: list[dict[str, float]] = []
        self.metrics: list[tuple[str, str]] = []
        self.finished = 0
        self.fails = False

    def init(self, **given: Any) -> "Hosted":
        self.begun.append(given)
        return self

    def define_metric(self, name: str, *, step_metric: str) -> None:
        self.metrics.append((name, step_metric))

    def log(self, values: dict[str, float]) -> None:
        if self.fails:
            raise ConnectionError("no net")
        self.logged.append(values)

    def finish(self) -> None:
        self.finished += 1


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Hosted:
    hosted = Hosted()
    monkeypatch.setitem(sys.modules, "wandb", hosted)  # type: ignore[arg-type]
    return hosted


def test_wandb_knows_a_resumed_run_again(tmp_path: Path, wandb: Hosted) -> None:
    settings = to(tmp_path, "wandb")
    logged(settings)
    first, second = wandb.begun
    assert first == second
    assert (first["project"], first["name"], first["resume"]) == ("tmas", "run", "allow")
    assert first["config"]["loss"]["clip_high"] == settings.loss.clip_high
    assert wandb.metrics == [("*", "step")] * 2
    assert [one["step"] for one in wandb.logged] == [1, 1, 2, 2, 3, 3, 3, 3, 4, 4]
    assert wandb.logged[:2] == [
        {"reward": 0.5, "step": 1},
        {"held_out/pass@1/normal": 0.25, "step": 1},
    ]
    assert wandb.finished == 2


def test_another_run_in_a_folder_of_that_name_is_another_run(tmp_path: Path, wandb: Hosted) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        tracking.trackers_of(to(tmp_path / name, "wandb"))
    first, second = wandb.begun
    assert first["name"] == second["name"]
    assert first["id"] != second["id"]


def test_a_tracker_that_fails_is_left_out_and_the_run_goes_on(
    tmp_path: Path, wandb: Hosted, caplog: pytest.LogCaptureFixture
) -> None:
    settings = to(tmp_path, "wandb")
    metrics = Metrics(settings.out, tracking.trackers_of(settings))
    wandb.fails = True
    for step in (1, 2):
        metrics.log(step, "train", {"reward": 0.5})
    metrics.close()
    assert [one.message for one in caplog.records] == [
        "wandb: failed (no net); it gets no more numbers. metrics.jsonl has all."
    ]
    assert (settings.out / "metrics.jsonl").read_text().count("\n") == 2


def test_a_tracker_that_cannot_begin_is_named(
    tmp_path: Path, wandb: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def init(**given: Any) -> None:
        raise RuntimeError("No API key configured.")

    monkeypatch.setattr(wandb, "init", init)
    with pytest.raises(SettingsError, match=r"log\.to: wandb can't begin \(No API key conf"):
        tracking.trackers_of(to(tmp_path, "wandb"))


@pytest.mark.parametrize("name", NAMES)
def test_a_tracker_that_isnt_installed_is_named_before_anything_is_done(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in tracking._IMPORTS.values():
        monkeypatch.setitem(sys.modules, module, None)
    settings = to(tmp_path, name)
    settings.out.rmdir()
    message = rf'log\.to: {name} isn\'t installed\. Run: pip install "tmas-graph\[{name}\]"'
    with pytest.raises(MissingExtra, match=message):
        train(settings)
    assert not settings.out.exists()
