import json
from pathlib import Path

import pytest
from cli.conftest import Tmas
from runs_made import folder, rows

SMALL = Path(__file__).parents[1] / "cases" / "runs" / "small"
TMAS = rows("tmas", {"p1": ["+a", "++"], "p2": ["ab", "+b"]})
RSE = rows("rse", {"p1": ["aa", "+a"], "p2": ["ab", "ab"]})


def written(tmas: Tmas, out: Path, *arguments: str) -> str:
    done = tmas("compare", *arguments, "--out", str(out))
    assert (done.code, done.out, done.err) == (0, "", f"wrote {out}\n")
    return out.read_text(encoding="utf-8")


def test_the_text_is_as_it_was_found_good(tmas: Tmas, place: Path) -> None:
    text = written(tmas, place / "out.txt", str(SMALL))
    assert text == (SMALL / "expected.txt").read_text(encoding="utf-8")


def test_a_narrow_terminal_loses_columns_before_letters(
    tmas: Tmas, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = tmas("compare", str(SMALL)).out.splitlines()
    assert lines[1].split() == ["iteration", "method", "Pass@1", "%", "selected", "%", "failed"]
    assert "…" not in "".join(line for line in lines if not line.startswith("*"))


@pytest.mark.parametrize(
    ("name", "suffix"), [("markdown", "md"), ("csv", "csv"), ("latex", "tex"), ("json", "json")]
)
def test_what_is_printed_is_what_is_written(
    tmas: Tmas, place: Path, name: str, suffix: str
) -> None:
    expected = (SMALL / f"expected.{suffix}").read_text(encoding="utf-8")
    assert tmas("compare", str(SMALL), "--format", name).out == expected
    assert written(tmas, place / "out", str(SMALL), "--format", name) == expected
    assert [path.name for path in place.iterdir()] == ["out"]


def test_several_runs_unite(tmas: Tmas, place: Path) -> None:
    runs = [str(folder(place / "a", TMAS)), str(folder(place / "b", RSE))]
    found = json.loads(tmas("compare", *runs, "--base", "rse", "--format", "json").out)
    assert found["base"] == "rse"
    assert {entry["method"] for entry in found["entries"]} == {
        "tmas",
        "rse",
        "self_consistency (samples of tmas)",
    }


def test_labels_tell_the_same_method_apart(tmas: Tmas, place: Path) -> None:
    other = {"tmas": {"candidates": 9}}
    runs = [
        str(folder(place / "a", TMAS)),
        str(folder(place / "b", TMAS, methods=other)),
    ]
    said = tmas.mistake("compare", *runs)
    assert "tmas was run with other settings than in" in said
    assert "candidates (4 / 9)" in said
    out = tmas("compare", *runs, "--label", "four", "--label", "nine").out
    assert "tmas @ four" in out
    assert "tmas @ nine" in out


def test_iterations_and_tokens_can_be_chosen(tmas: Tmas) -> None:
    chosen = ("--iterations", "0, 2", "--tokens", "150,999", "--format", "json")
    entries = json.loads(tmas("compare", str(SMALL), *chosen).out)["entries"]
    assert {e["at"] for e in entries if e["axis"] == "iterations"} == {0, 2}
    budgets = {e["at"] for e in entries if e["axis"] == "tokens"}
    assert budgets == {150, 800, 999, 2800, 6160}


def test_of_many_methods_people_are_shown_few_iterations_and_programs_all(
    tmas: Tmas, place: Path
) -> None:
    made = [row for n in range(12) for row in rows(f"m{n}", {"p1": ["+"] * 5})]
    run = str(folder(place / "a", made))

    def shown(*options: str) -> set[int]:
        out = tmas("compare", run, *options).out
        table, _, _ = out.partition("\n\n")
        return {int(line.split()[0]) for line in table.splitlines()[2:]}

    assert shown() == {0, 4}
    assert (
        "* 2 of 5 iterations are shown: --iterations says which, or all" in tmas("compare", run).out
    )
    assert shown("--iterations", "all") == {0, 1, 2, 3, 4}
    entries = json.loads(tmas("compare", run, "--format", "json").out)["entries"]
    assert {e["at"] for e in entries if e["axis"] == "iterations"} == {0, 1, 2, 3, 4}


def test_the_papers_table_needs_one_method_only(tmas: Tmas, place: Path) -> None:
    run = str(folder(place / "a", TMAS))
    out = tmas("compare", run, "--paper").out
    assert "Pass@1 % on IMO-AnswerBench-50" in out
    assert "40.50" in out
    assert "* differs: T" not in out
    assert "* differs: N, candidates per iteration: the paper 8; ours 4 (tmas)" in out
    latex = tmas("compare", run, "--paper", "--format", "latex").out
    assert r"75.00 $\pm$ 25.00" in latex


def test_a_picture_is_drawn_beside_the_table(tmas: Tmas, place: Path) -> None:
    done = tmas("compare", str(SMALL), "--plot", "a.svg")
    assert done.code == 0
    assert "At equal tokens" in done.out
    assert (place / "a.svg").read_text().startswith("<?xml")
    assert [path.name for path in place.iterdir()] == ["a.svg"]


def test_names_from_a_file_dont_steer_the_terminal(tmas: Tmas, place: Path) -> None:
    made = [*TMAS, *rows("\x1b[31mred\udc80", {"p1": ["+"], "p2": ["a"]})]
    run = str(folder(place / "a", made))
    for form in ("text", "markdown", "csv", "latex", "json"):
        done = tmas("compare", run, "--format", form)
        assert done.code == 0
        assert "\x1b" not in done.out


MISTAKES = (
    (("nowhere",), "nowhere: there is no such folder"),
    (("n" * 300,), "nnn: there is no such folder"),
    (("two", "--out", "n" * 300), "nnn: can't be written (File name too long)"),
    (("two", "--out", "n" * 300 + "/a"), "/a: its folder doesn't exist"),
    (("empty",), "empty: no rows.jsonl in it"),
    (("norows",), "norows/rows.jsonl: there is no row in it"),
    (("one", "apart"), "has no problem in common with another method"),
    (("garbage",), "garbage/rows.jsonl:1: not JSON"),
    (("two", "--base", "best"), "--base: no rows of 'best'"),
    (("two", "--iterations", "1,x"), "--iterations: 'x' is no whole number from 0"),
    (("two", "--iterations", "7"), "--iterations: no method has an iteration 7"),
    (("two", "--iterations", ""), "--iterations: it is empty"),
    (("two", "--tokens", "0"), "--tokens: '0' is no whole number from 1"),
    (("two", "--tokens", "9" * 5000), "is no whole number from 1"),
    (("two", "--label", "a", "--label", "b"), "--label: 2 for 1 runs"),
    (("two", "--out", "no/where"), "no/where: its folder doesn't exist"),
    (("two", "--out", "empty"), "empty: is a folder"),
    (("two", "--plot", "a.pdf"), "--plot: a.pdf ends in '.pdf'"),
    (("two", "--paper", "--base", "tmas"), "--paper: its table has the paper's own iterations"),
)


@pytest.mark.parametrize(("arguments", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_is_one_line_and_writes_nothing(
    tmas: Tmas, place: Path, arguments: tuple[str, ...], said: str
) -> None:
    (place / "empty").mkdir()
    folder(place / "norows", [])
    folder(place / "one", TMAS)
    folder(place / "two", [*TMAS, *RSE])
    folder(place / "apart", rows("rse", {"x": ["+"]}))
    (folder(place / "garbage", TMAS) / "rows.jsonl").write_text("garbage\n")
    out = () if "--out" in arguments else ("--out", "kept")
    (place / "kept").write_text("as it was")
    before = {path.name for path in place.iterdir()}
    assert said in tmas.mistake("compare", *arguments, *out)
    assert {path.name for path in place.iterdir()} == before
    assert (place / "kept").read_text() == "as it was"


def test_a_full_disk_leaves_the_old_file(
    tmas: Tmas, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "kept").write_text("as it was")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    said = tmas.mistake("compare", str(SMALL), "--out", "kept")
    assert said.startswith("kept: can't be written (No space left on device).")
    assert (place / "kept").read_text() == "as it was"
    assert [path.name for path in place.iterdir()] == ["kept"]
