"""What a run shows and draws: the table, plain lines, and pictures."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.grpo import plotting
from tmas_graph.grpo.__main__ import main
from tmas_graph.grpo.metrics import Metrics
from tmas_graph.grpo.samples import Rate
from tmas_graph.grpo.watching import View

STEP = {"step": 1, "kind": "train", "reward": -0.25, "correct": 0.5, "clip/high": 0.0}
HELD = {"step": 1, "kind": "held_out", "pass@1/normal": 0.125}


def shown(terminal: bool) -> str:
    out = io.StringIO()
    with View(Console(file=out, force_terminal=terminal, width=90), 7) as view:
        for record in (STEP, HELD, {"step": 1, "kind": "push", "version": 1}):
            view.record(record)
        view.note("done [bold]as it is[/bold]")
    return out.getvalue()


def test_a_file_gets_a_line_for_each_step() -> None:
    assert shown(terminal=False).splitlines() == [
        "step 1: reward -0.25, correct 0.5",
        "step 1 held out: pass@1/normal 0.125",
        "done [bold]as it is[/bold]",
    ]


def test_a_terminal_gets_a_table_of_what_is_there() -> None:
    text = shown(terminal=True)
    assert "reward" in text
    assert "-0.25" in text
    assert "grad" not in text
    assert "1 of 7 steps" in text
    assert "held out: pass@1/normal 0.125" in text


def run(folder: Path, steps: int) -> Path:
    folder.mkdir()
    metrics = Metrics(folder)
    for step in range(1, steps + 1):
        rates = {"reward/correctness/mean": Rate(step, 4), "length": Rate(9, 3), "clip/low": 0.1}
        metrics.log(step, "train", rates)
        metrics.log(step, "held_out", {"pass@1/normal": Rate(1, 2)})
    return folder


def test_two_runs_are_drawn_side_by_side(tmp_path: Path) -> None:
    runs = [run(tmp_path / name, 3) for name in ("hybrid", "vanilla")]
    file = tmp_path / "picture.svg"
    plotting.draw(runs, file)
    assert file.read_text().count("<svg") == 1
    records = plotting._records(runs[0])
    assert plotting.curves_of(records, "train", "reward/*/mean") == {
        "reward/correctness/mean": ([1, 2, 3], [0.25, 0.5, 0.75])
    }


def test_a_picture_of_nothing_or_of_no_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"ends in '\.doc'\. Use \.png or \.svg"):
        plotting.draw([run(tmp_path / "a", 1)], tmp_path / "picture.doc")
    with pytest.raises(StorageError, match=r"no metrics\.jsonl"):
        plotting.draw([tmp_path], tmp_path / "picture.png")


def test_lines_after_the_checkpoint_and_torn_ones_go(tmp_path: Path) -> None:
    folder = run(tmp_path / "a", 3)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "ki')
    Metrics(folder).forget_after(2)
    assert [one["step"] for one in plotting.read(folder)] == [1, 1, 2, 2]


def test_a_line_after_a_torn_one_is_whole(tmp_path: Path) -> None:
    folder = run(tmp_path / "a", 2)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2, "ki')
    metrics = Metrics(folder)
    metrics.forget_after(2)
    metrics.log(3, "train", {"loss": 0.0})
    assert [one["step"] for one in plotting.read(folder)] == [1, 1, 2, 2, 3]


def test_a_users_mistake_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.toml")]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{tmp_path / 'none.toml'}: can't be read")
    assert told.count("\n") == 1
