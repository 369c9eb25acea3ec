from itertools import count
from pathlib import Path

import pytest
import torch
from toy_run import TOOLS, policy_server, prepared

from tmas_graph.errors import PolicyMismatch, TrainingStopped
from tmas_graph.grpo import checkpoint, metrics
from tmas_graph.grpo.interfaces import Tools
from tmas_graph.grpo.operation import StopSettings
from tmas_graph.grpo.run import Surroundings, train
from tmas_graph.grpo.stops import refuse_collapse

FALLEN = (0.1, 0.5, 0.6, 0.7, 0.6, 0.1, 0.05, 0.12)


def test_a_collapsed_reward_stops_the_run_with_both_numbers() -> None:
    settings = StopSettings(collapse_share=0.5, collapse_steps=3)
    with pytest.raises(TrainingStopped) as caught:
        refuse_collapse(FALLEN, settings)
    assert str(caught.value).startswith(
        "step 8: the reward has collapsed: at most 0.120 of the completions were right in the "
        "last 3 steps, after 0.633 at best (mean over 3 steps)."
    )


@pytest.mark.parametrize(
    ("correct", "share"),
    [
        (FALLEN[:-1], 0.5),  # only two steps are low
        (FALLEN, 0.15),
        (FALLEN, 0.0),  # switched off
        ((0.0,) * 9, 0.5),  # never was any better
        ((), 0.5),
    ],
)
def test_what_is_no_collapse_goes_on(correct: tuple[float, ...], share: float) -> None:
    refuse_collapse(correct, StopSettings(collapse_share=share, collapse_steps=3))


def test_the_run_looks_at_its_own_share_of_right_completions(tmp_path: Path) -> None:
    asked = count()
    tools = Tools(lambda text, gold: next(asked) < 64, TOOLS.similarity)
    settings = prepared(tmp_path, steps=30, stops={"collapse_steps": 2})
    server = policy_server()
    with pytest.raises(TrainingStopped, match="the reward has collapsed"):
        train(settings, Surroundings(tools, server.opened))
    assert server.events[-1] == "close"


def test_a_number_that_isnt_finite_stops_before_the_weights_are_changed(tmp_path: Path) -> None:
    server = policy_server()

    def poison(text: str, gold: str) -> bool:
        with torch.no_grad():
            server.trained.lm_head.weight[0, 0] = float("nan")
        return text == gold

    with pytest.raises(TrainingStopped, match=r"loss nan, gradient norm nan"):
        train(prepared(tmp_path), Surroundings(Tools(poison, TOOLS.similarity), server.opened))
    assert server.events[-1] == "close"
    assert not (tmp_path / "run/checkpoints").exists()


def test_a_server_with_other_weights_stops_the_run_and_nothing_is_lost(tmp_path: Path) -> None:
    server = policy_server()
    server.at["push 3"] = lambda: setattr(server, "offset", 0.5)
    with pytest.raises(PolicyMismatch, match=r"parity: -\d"):
        train(prepared(tmp_path), Surroundings(TOOLS, server.opened))
    place = checkpoint.latest(tmp_path / "run/checkpoints")
    assert place is not None
    assert checkpoint.read(place).state.version == 3
    assert server.events[-1] == "close"
    assert [one["version"] for one in metrics.read(tmp_path / "run") if one["kind"] == "push"] == [
        0,
        1,
        2,
    ]
