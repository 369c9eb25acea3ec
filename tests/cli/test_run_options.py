"""Options of `tmas run` and its neighbours that would change nothing, or the wrong thing."""

import json
from pathlib import Path

import pytest
from cli.conftest import Tmas
from runs_made import folder, rows
from runs_on_script import problems_file

ONE = rows("tmas", {"p1": ["+a"], "p2": ["ab"]})


@pytest.fixture
def run(place: Path) -> str:
    """A folder of a run, with the files that one has."""
    made = folder(place / "a", ONE)
    for name in ("tmas.sqlite", "tmas.sqlite-wal", "run.lock"):
        (made / name).write_text("x")
    for name in ("memory", "locks"):
        (made / name).mkdir()
    return "a"


OWN = (
    *("run.json", "rows.jsonl", "RUN.JSON", "tmas.sqlite", "tmas.sqlite-wal", "run.lock"),
    *("memory/x", "locks/x"),
)


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize(
    "command", [("export", "--csv"), ("export", "--jsonl"), ("compare", "--out")]
)
def test_a_runs_own_files_are_not_written_over(
    tmas: Tmas, run: str, place: Path, command: tuple[str, str], own: str
) -> None:
    before = {p: p.read_bytes() for p in Path(run).rglob("*") if p.is_file()}
    (place / "link").symlink_to(place / "a" / own)
    for file in (f"a/{own}", "link"):
        said = tmas.mistake(command[0], run, command[1], file)
        assert said.startswith(f"{file}: the run in ")
        assert said.endswith("keeps its own data there. Give another file.")
    assert {p: p.read_bytes() for p in Path(run).rglob("*") if p.is_file()} == before


def test_another_file_in_the_folder_of_a_run_may_be_written(tmas: Tmas, run: str) -> None:
    assert tmas("export", run, "--csv", "a/all.csv").code == 0
    assert tmas("compare", run, "--out", "a/table.txt").err == "wrote a/table.txt\n"
    assert "--plot: b.svg is given to --out" in tmas.mistake(
        *("compare", run, "--out", "b.svg", "--plot", "b.svg")
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", ""),
        ("run", "p.jsonl", "--shard", ""),
        ("run", "p.jsonl", "--out="),
        ("run", "p.jsonl", "--method", " "),
        ("run", "p.jsonl", "--method", ","),
        ("run", "--resume", ""),
        ("merge", "", "a", "a"),
        ("merge", "b", "a", ""),
        ("compare", "a", "--label", ""),
        ("compare", "a", "--out", ""),
        ("export", "a", "--csv", ""),
        ("estimate", "--of", ""),
        ("methods", "--method", ""),
        ("problems", ""),
    ],
)
def test_what_is_empty_is_refused(
    tmas: Tmas, run: str, place: Path, arguments: tuple[str, ...]
) -> None:
    (place / "p.jsonl").write_text(json.dumps({"problem_id": "p", "question": "?"}))
    before = sorted(place.rglob("*"))
    said = tmas.mistake(*arguments)
    assert "it is empty" in said or "no method is named" in said
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize(
    "option",
    [
        *(("--answer-key", "x"), ("--split", "x"), ("--id-key", "x"), ("--question-key", "x")),
        *(("--from", "x"), ("--shard", "1/2")),
    ],
)
def test_what_belongs_to_a_runs_beginning_is_not_dropped_in_silence(
    tmas: Tmas, run: str, option: tuple[str, str]
) -> None:
    done = tmas("run", "--resume", run, *option)
    assert done.code == 2
    assert f"{option[0]} belongs to a run's beginning, not to --resume" in done.err


def test_what_does_not_go_together_says_why(tmas: Tmas, run: str) -> None:
    assert "or --resume, not both" in tmas("run", "gsm8k", "--resume", run).err
    assert "or --of, not both" in tmas("estimate", "gsm8k", "--of", run).err
    assert "only --limit and --json go with it" in tmas("estimate", "--of", run, "-N", "3").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("aime24", "--from", "nope.jsonl"), "--from: there is no file or folder nope.jsonl"),
        (("aime24", "--from", "no/way/nope"), "--from: there is no file or folder no/way/nope"),
        (("aime24", "--from", "empty"), "is a folder without data"),
        (("empty",), "is a folder without data"),
        (("p.jsonl", "--from", "q.jsonl"), "is a file or folder itself. Leave it out."),
        (("p.jsonl", "--split", "train"), "is a plain file and has no splits"),
        (("gsm8k", "--split", "train"), "--split: gsm8k is a plain file and has no splits"),
        (("p.jsonl", "--method", "tmas,tmas[seed=0]"), "tmas and tmas[seed=0] are the same"),
        (("p.jsonl", "--method", "tmas[seed=1,seed=2]"), "seed stands twice"),
        (("p.jsonl", "--method", "tmas[preset=paper]"), "a preset can't stand in brackets"),
        (("p.jsonl", "--out", "dead"), "dead is a link to nothing. Give a folder."),
        (("p.jsonl", "--run-max-cost", "1"), "run_max_cost: no price is known for 'scripted'"),
    ],
)
def test_a_beginning_that_cannot_be_meant_is_told(
    tmas: Tmas, scripted, place: Path, arguments: tuple[str, ...], said: str
) -> None:
    problems_file(place).rename(place / "p.jsonl")
    (place / "empty").mkdir()
    (place / "dead").symlink_to(place / "nowhere")
    assert said in tmas.mistake("run", *arguments)
    assert scripted.requests == []


def test_what_goes_on_is_told_and_refused_for_what_it_is(tmas: Tmas, scripted, place: Path) -> None:
    problems_file(place)
    begin = ("run", "problems.jsonl", "--method", "chain-of-thought", "--limit", "2")
    assert tmas(*begin, "--out", "a").code == 0
    assert "--limit: 1 is less than the 2 problems" in tmas.mistake(
        *("run", "--resume", "a", "--limit", "1")
    )
    done = tmas("run", "--resume", "a", "--limit", "3")
    assert "changed since it began: 1 more problem\n" in done.err
    lines = Path("a/rows.jsonl").read_text()
    Path("a/rows.jsonl").write_text(lines[:-20])
    done = tmas("run", "--resume", "a")
    assert "3 of 3 done in" in done.out
    assert "nothing was left" not in done.out
    assert "resume THREAD --home a goes on" in tmas("threads", "--home", "a").out
    (place / "file").write_text("x")
    assert "(Not a directory). Give the folder of a run." in tmas.mistake(
        *("run", "--resume", "file/x")
    )


def test_a_merge_is_not_told_to_go_on(tmas: Tmas, scripted, place: Path) -> None:
    problems_file(place)
    for i in (1, 2):
        shard = ("--shard", f"{i}/2", "--out", f"s{i}", "--method", "chain-of-thought")
        assert tmas("run", "problems.jsonl", *shard).code == 0
    assert tmas("merge", "all", "s1", "s2").code == 0
    done = tmas("estimate", "--of", "all", "--limit", "9")
    assert "a merge doesn't go on: resume s1, s2, and merge anew" in done.out
    assert "there are 4 problems in all" in done.err
    assert "It is a merge of s1, s2: they are there." in tmas("threads", "--home", "all").out


@pytest.mark.parametrize("command", [("compare", "a"), ("export", "a", "--csv", "b.csv")])
def test_a_run_of_another_format_is_refused_everywhere(
    tmas: Tmas, place: Path, command: tuple[str, ...]
) -> None:
    folder(place / "a", ONE, format=2, versions={"tmas-graph": "9.1"})
    said = "a/run.json: was made by tmas-graph 9.1, in format 2; this version reads 1."
    for arguments in (command, ("run", "--resume", "a"), ("estimate", "--of", "a")):
        assert tmas.mistake(*arguments) == f"{said} Use that version."


def test_what_is_wrong_with_a_run_json_is_said_without_names_of_exceptions(
    tmas: Tmas, place: Path
) -> None:
    folder(place / "a", ONE)
    said = tmas.mistake("run", "--resume", "a")
    assert "isn't what this version writes" in said
    assert "Error" not in said
