import json
import signal
from functools import partial
from pathlib import Path

import pytest
import torch
from toy_run import TOOLS, policy_server, prepared

from benchmarks.policy_server import PolicyServer
from grpo import tiny
from tmas_graph.errors import EndpointDown, SettingsError
from tmas_graph.grpo import checkpoint, metrics
from tmas_graph.grpo.run import Surroundings, train
from tmas_graph.grpo.trainer import CHECKPOINTS


def around(server: PolicyServer) -> Surroundings:
    return Surroundings(TOOLS, server.opened)


def failing(error: Exception):
    def fail() -> None:
        raise error

    return fail


def last(folder: Path) -> checkpoint.Saved:
    place = checkpoint.latest(folder / "run" / CHECKPOINTS)
    assert place is not None
    return checkpoint.read(place)


def told(folder: Path) -> list[dict]:
    """The numbers of all steps but for times, and for what a resume pushes again."""
    return [
        {name: value for name, value in record.items() if not name.startswith("seconds")}
        for record in metrics.read(folder / "run")
        if record["kind"] == "train"
    ]


def assert_same(one: object, other: object) -> None:
    if isinstance(one, torch.Tensor):
        assert isinstance(other, torch.Tensor)
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert isinstance(other, dict)
        assert one.keys() == other.keys()
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert isinstance(other, list | tuple)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    else:
        assert one == other


LORA = {"model__lora": {"rank": 4}, "server__push": "lora"}


@pytest.mark.parametrize("adapter", [{}, LORA], ids=["full", "lora"])
def test_two_steps_and_two_more_equal_four_bit_for_bit(tmp_path: Path, adapter: dict) -> None:
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    for folder in (whole, halves):
        folder.mkdir()
    train(prepared(whole, **adapter), around(policy_server()))
    train(prepared(halves, steps=2, **adapter), around(policy_server()))
    torch.manual_seed(77)  # another process would have other random numbers
    train(prepared(halves, **adapter), around(policy_server()), resume=True)
    assert last(whole).state == last(halves).state
    assert (last(whole).state.step, last(whole).state.version) == (4, 4)
    assert_same(last(whole).tensors, last(halves).tensors)
    assert told(whole) == told(halves)
    samples = sorted((whole / "run" / "samples").iterdir())
    assert len(samples) == 4
    for file in samples:
        assert file.read_text() == (halves / "run" / "samples" / file.name).read_text()


def test_a_resumed_run_pushes_before_it_samples(tmp_path: Path) -> None:
    train(prepared(tmp_path, steps=2), around(policy_server()))
    server = policy_server()
    train(prepared(tmp_path), around(server), resume=True)
    assert server.events[0] == "push 2"
    assert server.events[-1] == "close"


def test_a_run_that_was_killed_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    settings = prepared(tmp_path, steps=3)
    server = policy_server()
    server.at["push 3"] = failing(RuntimeError("killed"))
    with pytest.raises(RuntimeError, match="killed"):
        train(settings, around(server))
    assert [one["step"] for one in told(tmp_path)] == [1, 2, 3]
    assert last(tmp_path).state.step == 2
    killed_again = policy_server()
    killed_again.at["push 2"] = failing(RuntimeError("killed"))
    with pytest.raises(RuntimeError, match="killed"):
        train(settings, around(killed_again), resume=True)
    assert [one["step"] for one in told(tmp_path)] == [1, 2]
    assert tiny.names(tmp_path / "run/samples") == ["step-000001.jsonl", "step-000002.jsonl"]
    train(settings, around(policy_server()), resume=True)
    assert [one["step"] for one in told(tmp_path)] == [1, 2, 3]
    assert last(tmp_path).state.step == 3


def test_a_server_that_goes_down_leaves_a_checkpoint_of_the_last_step(tmp_path: Path) -> None:
    server = policy_server()
    server.at["push 3"] = failing(EndpointDown("http://127.0.0.1:1: refused. See to it."))
    with pytest.raises(EndpointDown, match="refused"):
        train(prepared(tmp_path), around(server))
    assert last(tmp_path).state.step == 3
    assert server.events[-1] == "close"


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    notes: list[str] = []

    class Notes:
        def record(self, record: object) -> None:
            pass

        def note(self, text: str) -> None:
            notes.append(text)

    server = policy_server()
    server.at["push 3"] = partial(signal.raise_signal, signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(prepared(tmp_path), Surroundings(TOOLS, server.opened, Notes()))
    assert last(tmp_path).state.step == 3
    assert notes == [
        f"Stopped after step 3; step 3 is saved in {tmp_path / 'run'}. Go on with --resume and "
        "the same settings."
    ]


def test_a_run_isnt_begun_over_another(tmp_path: Path) -> None:
    settings = prepared(tmp_path, steps=1)
    train(settings, around(policy_server()))
    with pytest.raises(SettingsError, match=r"holds a run already\. Go on with --resume"):
        train(settings, around(policy_server()))


def test_samples_are_kept_with_what_they_earned(tmp_path: Path) -> None:
    train(prepared(tmp_path, steps=1), around(policy_server()))
    lines = (tmp_path / "run/samples/step-000001.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) == 4 * 8
    experience = [one for one in records if one["mode"] == "experience"]
    assert all(one["prompt"][0]["content"].startswith("=") for one in experience)
    for one in records:
        parts = ("correctness", "experience", "guideline", "overlong")
        assert one["reward"] == sum(one[name] for name in parts)
        assert one["correct"] == (one["completion"] == one["ground_truth"])
        assert {"advantage", "finish_reason", "version", "p0"} <= one.keys()
