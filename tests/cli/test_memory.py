"""`tmas memory`: looking at what was learnt, and looking after it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer
from filelock import FileLock
from memory.test_transfer import published
from runs_on_script import problems_file

from tmas_graph.cli import memory_files
from tmas_graph.errors import ItemError, StorageError
from tmas_graph.memory.library import Published
from tmas_graph.memory.transfer import line_of, plain

ROWS: list[dict[str, Any]] = [
    {"kind": "technique", "text": r"substitute $u=\tan\frac{x}{2}$", "problem": "p1", "run": "r",
     "question": "Integrate?"},
    {"kind": "pitfall", "text": "[b]dividing[/b] by x", "problem": "p2", "conditions": "x = 0"},
    {"kind": "conclusion", "text": "\x1b[31m18", "problem": "p2", "status": "refuted",
     "reason": "it is 19", "contradictions": 1},
]  # fmt: skip


@pytest.fixture
def filled(tmas: Tmas, place: Path) -> Tmas:
    """A library with the items of `ROWS`."""
    (place / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert tmas("memory", "import", "items.jsonl").out == "3 new, 0 known, 0 merged\n"
    return tmas


def listed(tmas: Tmas, *arguments: str) -> list[Any]:
    done = tmas("memory", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)  # type: ignore[no-any-return]


def test_items_are_listed_the_newest_first(filled: Tmas) -> None:
    rows = listed(filled, "list")
    assert [row["text"] for row in rows] == [row["text"] for row in ROWS[::-1]]
    assert {**rows[0], **ROWS[2]} == rows[0]
    assert listed(filled, "list", "--limit", "1") == rows[:1]
    out = filled("memory", "list", "--limit", "2").out
    assert "[b]dividing[/b] by x (if: x = 0)" in out
    assert r"\x1b[31m18" in out
    assert "\x1b" not in out
    assert "2 of 3 in the library in " in out


def test_items_are_filtered(filled: Tmas) -> None:
    def texts(*arguments: str) -> list[str]:
        return [row["problem"] for row in listed(filled, "list", *arguments)]

    assert texts("--kind", "pitfall") == ["p2"]
    assert texts("--status", "refuted", "--problem", "p2") == ["p2"]
    assert texts("--run", "r") == ["p1"]
    assert texts("--run", "") == ["p2", "p2"]
    assert "No such items" not in filled("memory", "list").out
    assert filled("memory", "list", "--kind", "fact").code == 2
    assert filled("memory", "list", "--status", "true").code == 2


def test_a_search_says_how_similar_items_are(filled: Tmas) -> None:
    first, *_ = listed(filled, "search", r"substitute \tan\frac{x}{2}")
    assert first["text"] == ROWS[0]["text"]
    assert 0.3 < first["similarity"] <= 1
    assert (
        listed(filled, "search", "x", "--kind", "pitfall", "--limit", "1")[0]["kind"] == "pitfall"
    )
    assert (
        f"{first['similarity']:.2f}"
        in filled("memory", "search", r"substitute \tan\frac{x}{2}").out
    )


def test_all_of_an_item_is_shown(filled: Tmas) -> None:
    row = listed(filled, "list")[0]
    for name in (row["id"], row["id"][:6]):
        assert json.loads(filled("memory", "show", name, "--json").out) == row
    out = filled("memory", "show", row["id"]).out
    assert "it is 19" in out
    assert "\x1b" not in out
    wrong = ("0" if row["id"][0] != "0" else "1") + row["id"][1:]
    assert f"(did you mean '{row['id']}'?)" in filled.mistake("memory", "show", wrong)
    assert "there is no item ''" in filled.mistake("memory", "show", "")


def test_items_are_counted(filled: Tmas) -> None:
    told = json.loads(filled("memory", "stats", "--json").out)
    assert (told["items"], told["embedder"]) == (3, "hashing-1024")
    assert told["kind"] == {"technique": 1, "pitfall": 1, "conclusion": 1}
    assert told["status"] == {"open": 2, "refuted": 1}
    assert (told["problem"], told["run"]) == ({"p2": 2, "p1": 1}, {"": 2, "r": 1})
    assert told["bytes"] > 10_000
    assert told["questions"] == {"p1": "Integrate?"}
    out = filled("memory", "stats").out
    assert "3 items in the library" in out
    assert [line.split() for line in out.splitlines()[-2:]] == [
        ["2", "p2", "–"],
        ["1", "p1", "Integrate?"],
    ]


def test_items_go_from_library_to_library_byte_for_byte(tmas: Tmas, place: Path) -> None:
    given = published(100)
    (place / "a.jsonl").write_text("".join(map(line_of, given)))
    assert tmas("memory", "import", "a.jsonl", "--no-dedup").out.startswith("100 new")
    assert tmas("memory", "export", "b.jsonl").out == "wrote 100 items to b.jsonl\n"
    assert (place / "b.jsonl").read_bytes() == (place / "a.jsonl").read_bytes()
    other = ("--memory-folder", "other")
    text = tmas("memory", "export", "-").out
    done = tmas("memory", "import", "-", "--no-dedup", "--json", *other, stdin=text)
    assert json.loads(done.out) == {"new": 100, "known": 0, "merged": 0}
    assert listed(tmas, "list", "--limit", "100", *other) == [plain(one) for one in given[::-1]]
    again = tmas("memory", "import", "a.jsonl", *other)
    assert again.out == "0 new, 100 known, 0 merged\n"


def test_what_says_the_same_is_merged_unless_told_otherwise(filled: Tmas, place: Path) -> None:
    again = {**ROWS[0], "text": r"Substitute $u = \tan \frac{x}{2}$.", "run": "s"}
    (place / "again.jsonl").write_text(json.dumps(again))
    assert filled("memory", "import", "again.jsonl").out == "0 new, 0 known, 1 merged\n"
    done = filled("memory", "import", "again.jsonl", "--no-dedup")
    assert done.out == "1 new, 0 known, 0 merged\n"


def test_of_a_file_with_a_fault_nothing_is_taken_in(filled: Tmas, place: Path) -> None:
    good = json.dumps({"kind": "pitfall", "text": "new"})
    (place / "bad.jsonl").write_text(f'{good}\n{{"kind": "pitfall", "text": "a\\n- [pitfall] b"}}')
    said = filled.mistake("memory", "import", "bad.jsonl")
    assert said == 'bad.jsonl:2: "text" has several lines, but must be one. Mend the line.'
    assert len(listed(filled, "list")) == 3
    assert "gone.jsonl: can't be read (No such file" in filled.mistake(
        "memory", "import", "gone.jsonl"
    )
    (place / "latin.jsonl").write_bytes(b"\xff")
    assert "is no UTF-8" in filled.mistake("memory", "import", "latin.jsonl")


def test_an_export_replaces_no_file_unless_told_to(filled: Tmas, place: Path) -> None:
    (place / "mine.jsonl").write_text("mine")
    assert "mine.jsonl is there already" in filled.mistake("memory", "export", "mine.jsonl")
    assert (place / "mine.jsonl").read_text() == "mine"
    assert filled("memory", "export", "mine.jsonl", "--force", "--kind", "pitfall").code == 0
    assert len((place / "mine.jsonl").read_text().splitlines()) == 1
    assert "can't be written" in filled.mistake("memory", "export", "no/such/folder.jsonl")
    assert "can't be written" in filled.mistake("memory", "export", str(place), "--force")
    assert [path.name for path in place.iterdir() if path.name.startswith(".tmas-")] == []


def test_items_are_deleted_after_a_question(filled: Tmas, place: Path) -> None:
    ids = [row["id"] for row in listed(filled, "list")]
    done = filled("memory", "delete", ids[0], stdin="n\n")
    assert (done.code, done.out) == (1, "")
    assert done.err.endswith("? [y/N]: nothing is deleted\n")
    assert len(listed(filled, "list")) == 3
    assert "there is no item 'x'" in filled.mistake("memory", "delete", ids[0], "x", "--yes")
    assert len(listed(filled, "list")) == 3
    done = filled("memory", "delete", ids[0], ids[0], stdin="y\n")
    where = f"the library in {place}/home/library"
    assert done.err == f"Delete 1 of 3 items in {where}? [y/N]: "
    assert (done.code, done.out) == (0, f"deleted 1 of 3 items in {where}\n")
    assert json.loads(filled("memory", "delete", "--problem", "p1", "--yes", "--json").out) == {
        "deleted": 1
    }
    assert [row["id"] for row in listed(filled, "list")] == [ids[1]]
    assert filled("memory", "delete", "--all", "--yes").out == f"deleted 1 item in {where}\n"
    assert filled("memory", "list").out.startswith("Nothing is in the library in ")
    assert listed(filled, "list") == []
    for arguments in ([], ["--all", "--problem", "p"], [ids[1], "--all"]):
        done = filled("memory", "delete", *arguments)
        assert done.code == 2
        assert ("several" if arguments else "nothing") + " say" in done.err.replace("things ", "")
        assert "Give one of these: ids; --problem, --run or both; or --all." in done.err


def test_where_nobody_can_be_asked_nothing_is_deleted(filled: Tmas) -> None:
    done = filled("memory", "delete", "--all")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[1:] == [
        "nobody answered; --yes deletes without a question",
        "nothing is deleted",
    ]
    assert len(listed(filled, "list")) == 3


def test_a_filter_without_a_match_is_told_from_an_empty_library(filled: Tmas) -> None:
    out = filled("memory", "list", "--problem", "p22", "--status", "open").out
    assert "matches --status 'open' --problem 'p22' (did you mean 'p2'?). It holds 3 items:" in out
    assert " problem: p2 2 · p1 1\n" in out
    assert "  status: open 2 · refuted 1\n" in out
    assert "Nothing is in" not in out
    assert "matches --run 'q'" in filled("memory", "search", "x", "--run", "q").out
    assert listed(filled, "list", "--problem", "p9") == []


def test_a_mistyped_kind_is_quoted(filled: Tmas) -> None:
    said = " ".join(filled("memory", "list", "--kind", "pitfal").err.replace("│", " ").split())
    assert "--kind: there is no 'pitfal' (did you mean 'pitfall'?). It is one of" in said
    assert "conclusion, technique and pitfall." in said


def test_a_search_leaves_out_what_has_nothing_in_common(filled: Tmas) -> None:
    out = filled("memory", "search", "dividing by x").out
    assert out.endswith("similarity by hashing: shared words and letters, not meaning\n")
    none = filled("memory", "search", "").out
    assert "is like that" in none
    assert "3 items left out: nothing in common with the text" in none
    assert listed(filled, "search", "") == []


def test_in_a_narrow_terminal_the_text_keeps_its_room(
    tmas: Tmas, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = "count the exponents of all primes and multiply"
    common = {"question": "How many even divisors has 360?", "time": "2026-01-31T12:00:00+00:00"}
    rows = [{"kind": k, "text": text, "problem": "p", **common} for k in ("technique", "pitfall")]
    (place / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tmas("memory", "import", "a.jsonl", "--no-dedup")
    out = tmas("memory", "list").out
    assert text[:30] in out
    assert "pitfall" in out
    assert "2026-01-31" in out
    assert "How many" not in out
    assert max(map(len, out.splitlines()[:3])) <= 80
    monkeypatch.setenv("COLUMNS", "300")
    head, *lines = tmas("memory", "list").out.splitlines()
    assert head.split() == ["id", "kind", "status", "problem", "since", "text"]
    assert "How many even divisors …  2026-01-31" in lines[0]
    short = lines[0].split()[0]
    assert len(short) == 8
    assert json.loads(tmas("memory", "show", short, "--json").out)["text"] == text


def test_one_item_of_two_problems_is_shown_under_its_whole_ids(tmas: Tmas, place: Path) -> None:
    rows = [{"kind": "pitfall", "text": "x", "problem": problem} for problem in "pq"]
    (place / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tmas("memory", "import", "a.jsonl")
    ids = [row["id"] for row in listed(tmas, "list")]
    assert [line.split()[0] for line in tmas("memory", "list").out.splitlines()[1:3]] == ids


def test_to_look_at_a_library_loads_no_langgraph(filled: Tmas, place: Path) -> None:
    look = (
        "import sys; from tmas_graph.cli.commands import app; "
        "app(['memory', *sys.argv[1:]], standalone_mode=False); "
        "print(*(n for n in ('langgraph', 'openai', 'sklearn', 'torch') if n in sys.modules))"
    )
    for arguments in (["list"], ["stats"], ["export", "-"]):
        done = subprocess.run(
            [sys.executable, "-c", look, *arguments], capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("command", ["list", "stats", "reembed", "export -", "search x", "show x"])
def test_without_a_library_it_says_so_and_makes_none(tmas: Tmas, place: Path, command: str) -> None:
    said = tmas.mistake("memory", *command.split())
    assert said.startswith(f"memory: there is no library in {place}/home/library. Runs with ")
    assert not (place / "home").exists()
    assert not (place / "home" / "library").exists()


def test_a_place_that_is_no_folder_is_named(tmas: Tmas, place: Path) -> None:
    (place / "file").write_text("x")
    assert "file can't be used" in tmas.mistake("memory", "list", "--memory-folder", "file")
    said = tmas.mistake("memory", "list", "--memory-server", "http://127.0.0.1:9")
    assert "no Chroma server answers at http://127.0.0.1:9" in said


def test_what_another_writes_to_can_be_read_but_not_changed(filled: Tmas, place: Path) -> None:
    with FileLock(place / "home" / "library" / "tmas.lock"):
        assert len(listed(filled, "list")) == 3
        for arguments in (["delete", "--all", "--yes"], ["import", "items.jsonl"], ["reembed"]):
            assert "another process writes to" in filled.mistake("memory", *arguments)
    assert len(listed(filled, "list")) == 3


def test_the_bank_of_a_thread_is_read_while_it_runs(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    thread = json.loads(tmas("solve", "What is 6·7?", "--json").out)["thread"]
    with FileLock(place / "home" / "memory" / thread / "tmas.lock"):
        rows = listed(tmas, "list", "--thread", thread)
        assert [row["name"] for row in rows] == ["E1", "E2", "E3"]
        assert json.loads(tmas("memory", "show", "E2", "--thread", thread, "--json").out) == rows[1]
        nearest = listed(tmas, "search", rows[2]["text"], "--thread", thread, "--limit", "1")
        assert nearest == [{**rows[2], "similarity": 1.0}]
        assert rows[0]["id"] in tmas("memory", "export", "-", "--thread", thread).out
        assert json.loads(tmas("memory", "stats", "--thread", thread, "--json").out)["items"] == 3
    assert "there is no 'x'" in tmas.mistake("memory", "list", "--thread", "x")
    assert "E1" in tmas.mistake("memory", "show", "E11", "--thread", thread)
    assert tmas("memory", "list", "--thread", thread, "--memory-folder", "x").code == 2


def test_threads_that_share_fill_the_library_of_the_state_folder(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    shared = ("--set", "memory_scope=library", "--set", "run_name=night")
    first = json.loads(tmas("solve", "What is 6·7?", "--json", *shared).out)
    rows = listed(tmas, "list")
    assert {row["problem"] for row in rows} == {first["problem"]["id"]}
    assert {row["run"] for row in rows} == {"night"}
    names = [row["id"] for row in listed(tmas, "list", "--thread", first["thread"])]
    assert sorted(names) == sorted(row["id"] for row in rows)
    origin = {(row["question"], row["thread"], row["time"] != "") for row in rows}
    assert origin == {("What is 6·7?", first["thread"], True)}
    assert not (place / "home" / "memory").exists()
    assert "0 items have new vectors" in tmas("memory", "reembed").out
    said = tmas.mistake("solve", "What is 6·7?", "--set", "memory_scope=run")
    assert "memory_scope is run, but no run_name is given. Set run_name." in said


def test_a_second_writer_is_refused_before_a_thread_is_made(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    shared = ("--set", "memory_scope=library")
    told = json.loads(tmas("solve", "What is 6·7?", "--json", *shared).out)
    asked = len(scripted.requests)
    with FileLock(place / "home" / "library" / "tmas.lock"):
        for command in (["solve", "What?", *shared], ["resume", told["thread"], "-T", "2"]):
            said = tmas.mistake(*command)
            assert "another process writes to" in said
        problems_file(place)
        folder = f"--set=memory_folder={place}/home/library"
        assert "another process" in tmas.mistake("run", "problems.jsonl", "--out", "a", folder)
    assert not (place / "a").exists()
    assert len(scripted.requests) == asked
    [row] = json.loads(tmas("threads", "--json").out)
    assert (row["thread"], row["status"]) == (told["thread"], "done")


def test_items_are_kept_apart_by_what_they_are_from() -> None:
    one = published(1)[0]
    assert Published(one.item, "a", "b").id != Published(one.item, "b", "a").id


@pytest.mark.parametrize(
    "name", ["", ".", "/", "n" * 300, "mine.jsonl/x", "no/such", "\U0001d53d" * 64]
)
def test_a_name_that_can_be_no_file_is_one_line(filled: Tmas, place: Path, name: str) -> None:
    (place / "mine.jsonl").write_text("mine")
    before = sorted(place.iterdir())
    assert filled.mistake("memory", "export", name, "--force").startswith(name or "export: the")
    assert sorted(place.iterdir()) == before
    assert filled.mistake("memory", "import", name).startswith(name or "import: the")


def test_a_name_as_long_as_the_file_system_takes_is_written(filled: Tmas, place: Path) -> None:
    assert filled("memory", "export", "n" * 250).code == 0
    assert len((place / ("n" * 250)).read_text().splitlines()) == 3


def test_a_pipe_is_written_and_stays_one(filled: Tmas, place: Path) -> None:
    pipe = place / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert "is there already" in filled.mistake("memory", "export", "pipe")
    assert filled("memory", "export", "pipe", "--force").code == 0
    assert len(os.read(reader, 100_000).splitlines()) == 3
    os.close(reader)
    assert pipe.is_fifo()


def test_what_a_link_names_is_replaced(filled: Tmas, place: Path) -> None:
    (place / "far").mkdir()
    (place / "link").symlink_to(place / "far" / "file")
    assert filled("memory", "export", "link").code == 0
    assert (place / "link").is_symlink()
    assert len((place / "far" / "file").read_text().splitlines()) == 3


def test_a_closed_stream_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdout", None)
        with pytest.raises(StorageError, match="standard output is closed"):
            memory_files.write("-", "", force=False)
    with monkeypatch.context() as closed:
        closed.setattr(sys, "stdin", None)
        with pytest.raises(ItemError, match="standard input is closed"):
            memory_files.read("-")


def test_a_mark_of_the_byte_order_is_no_fault(tmas: Tmas) -> None:
    given = "\ufeff" + json.dumps(ROWS[0])
    assert tmas("memory", "import", "-", stdin=given).out == "1 new, 0 known, 0 merged\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--memory-folder", ""),
        ("list", "--memory-folder", "", "--thread", "x"),
        ("list", "--home", ""),
        ("list", "--limit", "99999999999999"),
        ("search", "x", "--limit", "99999999999999"),
        ("delete", "--problem", "", "--yes"),
        ("delete", "--run", "", "--yes"),
    ],
)
def test_an_empty_name_or_a_vast_number_is_refused(
    filled: Tmas, arguments: tuple[str, ...]
) -> None:
    done = filled("memory", *arguments)
    assert (done.code, done.out) == (2, "")
    assert len(listed(filled, "list")) == 3


@pytest.mark.parametrize("name", ["TMAS_MEMORY_FOLDER", "TMAS_HOME", "TMAS_EMBEDDINGS__FOLDER"])
def test_an_empty_variable_is_refused(
    tmas: Tmas, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "")
    assert name in tmas.mistake("memory", "list")
