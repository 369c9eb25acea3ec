import json
from dataclasses import replace
from pathlib import Path

import pytest

from tmas_graph import Settings
from tmas_graph.errors import SettingsError, StorageError, ThreadChanged
from tmas_graph.evaluation.entrants import entrants
from tmas_graph.evaluation.merging import Merged, merge
from tmas_graph.evaluation.problem_set import ProblemSource
from tmas_graph.evaluation.run_folder import FILE, Plan, read_plan, write_plan
from tmas_graph.evaluation.run_rows import FILE as ROWS
from tmas_graph.evaluation.run_rows import Row, Selected, dumped, read

GIVEN = Settings(base_url="http://127.0.0.1:1/v1")
PLAN = Plan(
    source=ProblemSource("gsm8k"),
    version="1",
    problems=("p1", "p2"),
    checksum="0123",
    settings=GIVEN,
    entrants=entrants(["tmas"], GIVEN),
    models={"tmas": {"solution": "m"}},
    prompts={"tmas": {"summary": "ab"}},
)


def row(problem: str, **changes: object) -> Row:
    ended = Row(
        problem, "tmas", 0, (), Selected("1", "correct", 1.0), seconds=1.0, stop="confident"
    )
    return replace(ended, **changes)  # type: ignore[arg-type]


def part(folder: Path, *rows: Row, **changes: object) -> Path:
    """A run with these rows."""
    folder.mkdir()
    write_plan(folder, replace(PLAN, **changes))  # type: ignore[arg-type]
    (folder / ROWS).write_text(dumped(rows))
    return folder


def test_shards_are_one_run_afterwards(tmp_path: Path):
    one = part(tmp_path / "one", row("p1"), shard="1/2")
    two = part(tmp_path / "two", row("p2"), shard="2/2")
    assert merge(tmp_path / "out", [one, two]) == Merged(rows=2, done=2, failed=0, missing=0)
    assert read(tmp_path / "out" / ROWS).rows == (row("p1"), row("p2"))
    plan = read_plan(tmp_path / "out")
    assert plan.shard == "1/1"
    assert plan.parts == (str(one), str(two))
    assert plan.problems == PLAN.problems


def test_what_no_part_has_is_missing(tmp_path: Path):
    one, two = part(tmp_path / "one", row("p1")), part(tmp_path / "two", row("p1", seconds=2.0))
    assert merge(tmp_path / "out", [one, two]) == Merged(rows=1, done=1, failed=0, missing=1)


def test_what_failed_in_one_part_may_have_come_through_in_another(tmp_path: Path):
    failed = row("p1", outcome="failed", stop=None, iteration=3)
    one, two = part(tmp_path / "one", failed), part(tmp_path / "two", row("p1"), row("p2"))
    assert merge(tmp_path / "out", [one, two]).failed == 0
    assert read(tmp_path / "out" / ROWS).rows == (row("p1"), row("p2"))


def test_parts_that_disagree_about_a_problem_are_refused(tmp_path: Path):
    other = row("p1", selected=Selected("2", "incorrect", 1.0))
    one, two = part(tmp_path / "one", row("p1")), part(tmp_path / "two", other)
    with pytest.raises(ThreadChanged, match="two has other rows of p1 with tmas"):
        merge(tmp_path / "out", [one, two])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"version": "2"}, "the data set"),
        ({"checksum": "4567"}, "gold answers"),
        ({"models": {"tmas": {"solution": "n"}}}, "tmas: the models"),
        ({"prompts": {"tmas": {"summary": "cd"}}}, "tmas: the prompts"),
        ({"entrants": entrants(["tmas", "best-of-n"], GIVEN)}, "best-of-n only in one"),
        (
            {"entrants": entrants(["tmas"], GIVEN.model_copy(update={"epsilon": 0.5}))},
            r"tmas: epsilon \(0.2 and 0.5\)",
        ),
    ],
)
def test_what_differs_between_parts_is_named(tmp_path: Path, changes: dict, named: str):
    one, two = part(tmp_path / "one", row("p1")), part(tmp_path / "two", row("p2"), **changes)
    with pytest.raises(ThreadChanged, match=f"aren't parts of one run: .*{named}"):
        merge(tmp_path / "out", [one, two])


def test_parts_may_have_been_made_at_different_servers(tmp_path: Path):
    elsewhere = {"base_url": "http://127.0.0.1:2/v1", "concurrency": 7, "memory_folder": "/x"}
    other = entrants(["tmas"], GIVEN.model_copy(update=elsewhere))
    one, two = part(tmp_path / "one", row("p1")), part(tmp_path / "two", row("p2"), entrants=other)
    assert merge(tmp_path / "out", [one, two]).done == 2


def test_an_unfit_folder_is_named(tmp_path: Path):
    one = part(tmp_path / "one", row("p1"))
    with pytest.raises(SettingsError, match="two runs at least"):
        merge(tmp_path / "out", [one])
    with pytest.raises(StorageError, match=r"is no run, as it has no run\.json"):
        merge(tmp_path / "out", [one, tmp_path])
    with pytest.raises(SettingsError, match="there is a run in"):
        merge(one, [one, one])
    (one / FILE).write_text(json.dumps({"format": 2}))
    with pytest.raises(StorageError, match="by another version of tmas-graph, in format 2"):
        merge(tmp_path / "out", [one, one])


@pytest.mark.parametrize("out", ["file", "file/below", "link", "one"])
def test_what_is_no_new_folder_is_refused_and_stays(tmp_path: Path, out: str):
    one = part(tmp_path / "one", row("p1"))
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match=r"^merge: .*\. Give a new folder\.$"):
        merge(tmp_path / out, [one, one])
    assert (tmp_path / "file").read_text() == "mine"
    assert read(one / ROWS).rows == (row("p1"),)


def test_a_merge_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    one = part(tmp_path / "one", row("p1"))
    (tmp_path / "there").mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tmas_graph.evaluation.merging.write_plan", full)
        for out in ("new/below", "there"):
            with pytest.raises(OSError, match="No space left"):
                merge(tmp_path / out, [one, one])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "there"]
    assert list((tmp_path / "there").iterdir()) == []
