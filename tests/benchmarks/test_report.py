"""The page of benchmarks: each with its command, its table, and where it was measured."""

import json
from pathlib import Path

import pytest

from benchmarks import report
from benchmarks.report import Benchmark

ALL = report.BENCHMARKS


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Benchmarks of our own, and a page elsewhere."""
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "good.py").write_text("print('a table')")
    (tmp_path / "benchmarks" / "bad.py").write_text("raise SystemExit('no server')")
    mine = (
        Benchmark("good", "Good", "That it works.", ("--n", "2"), ("good.svg",)),
        Benchmark("bad", "Bad", "That it fails."),
    )
    monkeypatch.setattr(report, "BENCHMARKS", mine)
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setattr(report, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(report, "KEPT", tmp_path / "kept.json")
    return tmp_path


def test_the_page_holds_commands_tables_images_and_the_machine(places: Path):
    assert report.main(["good"]) == 0
    said = (places / "page.md").read_text()
    assert (
        "## Good\n\nThat it works.\n\n```\n$ python -m benchmarks.good --n 2\na table\n```" in said
    )
    assert "![Good](images/good.svg)" in said
    assert report.machine() in said
    assert "Bad" not in said


def test_one_that_fails_is_shown_and_the_others_keep_what_they_showed(places: Path):
    report.main(["good"])
    assert report.main(["bad"]) == 1
    said = (places / "page.md").read_text()
    assert "a table" in said
    assert "no server" in said
    assert "**It failed.**" in said
    assert json.loads((places / "kept.json").read_text()).keys() == {"good", "bad"}


def test_a_name_that_isnt_there_is_refused(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        report.main(["goof"])
    assert "there is no 'goof'; there are good, bad" in capsys.readouterr().err


def test_every_benchmark_named_is_there():
    folder = Path(report.__file__).parent
    assert ALL
    assert [one.name for one in ALL if not (folder / f"{one.name}.py").exists()] == []


def test_the_one_that_needs_an_engine_is_told_where_it_is_or_left_out(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (places / "benchmarks" / "real.py").write_text("import sys; print('at', sys.argv[1])")
    monkeypatch.setattr(report, "BENCHMARKS", (Benchmark("real", "Real", "It.", engine=True),))
    monkeypatch.setattr(report, "ENGINE", "elsewhere")
    assert report.main([]) == 0
    assert "real: left out, there is no elsewhere" in capsys.readouterr().out
    (places / "elsewhere").mkdir()
    assert report.main([]) == 0
    said = (places / "page.md").read_text()
    assert "$ python -m benchmarks.real .venv-vllm\nat elsewhere" in said
