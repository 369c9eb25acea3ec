import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cli.conftest import Tmas
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer
from runs_on_script import problems_file

NAMES = ["held_out.parquet", "report.json", "train.parquet"]


@pytest.fixture
def run(tmas: Tmas, place: Path, scripted: ScriptedServer) -> Path:
    """A run of TMAS whose answers are right by chance."""
    scripted.change(script=Reasoner(wrong=("7",), chance=0.5).short(), role_of=role_of)
    file, out = problems_file(place), place / "run"
    options = ("-N", "4", "-M", "1", "-T", "2", "--epsilon", "0.5", "--set")
    done = tmas("run", str(file), "--out", str(out), *options, "mode_draws=stratified")
    assert done.code == 0, done.err
    return out


def test_it_writes_both_parts_and_a_report(tmas: Tmas, place: Path, run: Path) -> None:
    done = tmas("train", "data", str(run), "--out", "data", "--difficulty", "0", "1")
    assert (done.code, done.err) == (0, "")
    assert sorted(file.name for file in (place / "data").iterdir()) == NAMES
    report = json.loads((place / "data" / "report.json").read_text())
    for name, part in report["parts"].items():
        rows = pq.read_table(place / "data" / f"{name}.parquet").to_pylist()
        assert len(rows) == sum(part["rows"].values())
        assert all(row["extra_info"]["split"] == name for row in rows)
        assert [row["extra_info"]["index"] for row in rows] == list(range(len(rows)))
    counts = {
        s: sum(p["rows"][s] for p in report["parts"].values())
        for s in ("normal", "experience", "guideline")
    }
    assert counts == {"normal": 4, "experience": 4, "guideline": 4}
    assert done.out.splitlines()[0].split()[:3] == ["prompts", "train", "held_out"]
    assert "p0 from 16 rollouts of tmas" in done.out
    assert done.out.splitlines()[-1] == (
        "train.parquet, held_out.parquet and report.json are in data"
    )


def test_json_is_the_report(tmas: Tmas, place: Path, run: Path) -> None:
    arguments = ("train", "data", str(run), "--out", "data", "--min-rollouts", "5", "--json")
    done = tmas(*arguments)
    report = json.loads(done.out)
    assert report == json.loads((place / "data" / "report.json").read_text())
    assert report["problems_left_out"] == {"fewer than 5 rollouts without a bank": 4}
    assert report["parts"]["train"]["problems"] == 0


def test_problems_can_be_held_out(tmas: Tmas, place: Path, run: Path) -> None:
    common = ("train", "data", str(run), "--out", "data", "--difficulty", "0", "1")
    report = json.loads(tmas(*common, "--held-out", "0.5", "--json").out)
    held, rest = (report["parts"][name]["problems"] for name in ("held_out", "train"))
    assert (held, held + rest) == (len(report["held_out"]), 4)
    report = json.loads(tmas(*common, "--per-problem", "2", "--limit", "7", "--json").out)
    assert sum(sum(p["rows"].values()) for p in report["parts"].values()) == 7
    assert report["rows_left_out"] == {"more than --per-problem": 4, "more than --limit": 1}


def test_a_mistake_is_one_line_and_writes_nothing(tmas: Tmas, place: Path, run: Path) -> None:
    data = ("train", "data")
    assert tmas.mistake(*data, str(place), "--out", "data").endswith("Give the folder of a run.")
    given = (*data, str(run), "--out", "data")
    assert tmas.mistake(*given, "--difficulty", "1", "0").startswith("--difficulty: 1 0 is no")
    assert tmas.mistake(*given, "--held-out", "1").startswith("--held-out: 1 is no share")
    (place / "file").write_text("")
    said = tmas.mistake(*data, str(run), "--out", "file")
    assert said == "--out: file can't be made (File exists). Give another folder."
    assert not (place / "data").exists()


def test_without_pyarrow_it_says_what_to_install(
    tmas: Tmas, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = tmas("train", "data", str(place), "--out", "data")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "tmas: pyarrow isn't installed, and parquet needs it. "
        'Run: pip install "tmas-graph[train]"\n'
    )
