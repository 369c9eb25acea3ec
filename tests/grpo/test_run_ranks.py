"""Two processes that share the weights train as one does, and go on from a checkpoint."""

from pathlib import Path

import pytest
from safetensors.torch import load_file
from toy_run import TOOLS, policy_server, prepared

from grpo.two_processes import joined
from grpo.two_ranks_train import OPTIMIZER
from tmas_graph.grpo import metrics
from tmas_graph.grpo.run import Surroundings, train

pytestmark = pytest.mark.training


def sitting(folder: Path, steps: int) -> None:
    joined("two_ranks_train.py", folder / f"meeting-{steps}", folder, steps)


def test_two_ranks_that_go_on_from_a_checkpoint_train_as_one_does(tmp_path: Path) -> None:
    alone, two = tmp_path / "alone", tmp_path / "two"
    for folder in (alone, two):
        folder.mkdir()
    train(prepared(alone, optimizer=OPTIMIZER), Surroundings(TOOLS, policy_server().opened))
    prepared(two)  # both processes find model and data there
    sitting(two, 2)
    sitting(two, 4)
    lines = [
        [one for one in metrics.read(folder / "run") if one["kind"] == "train"]
        for folder in (alone, two)
    ]
    assert [one["step"] for one in lines[1]] == [1, 2, 3, 4]
    for one, other in zip(*lines, strict=True):
        for name in ("reward", "loss", "grad_norm", "entropy", "correct"):
            assert other[name] == pytest.approx(one[name], rel=1e-3, abs=1e-6), name
    [first], [second] = ((folder / "run/final").glob("*.safetensors") for folder in (alone, two))
    for name, weight in load_file(first).items():
        assert float((weight - load_file(second)[name]).abs().max()) < 1e-4, name
