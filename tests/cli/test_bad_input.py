"""Each mistake of a user is one clear line on the standard error, status 2, and no traceback."""

import sys
from itertools import product
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer, server


@pytest.mark.parametrize("argument", ["", "  \n", "-"])
def test_an_empty_problem(tmas: Tmas, scripted: ScriptedServer, argument: str) -> None:
    assert "is empty. Give the text of the problem." in tmas.mistake("solve", argument)
    assert scripted.requests == []


def test_an_empty_file(tmas: Tmas, scripted: ScriptedServer, place: Path) -> None:
    (place / "p.txt").write_text(" \n")
    assert tmas.mistake("solve", "p.txt") == (
        "problem: 'p.txt' is empty. Give the text of the problem."
    )


def test_a_missing_file(tmas: Tmas, scripted: ScriptedServer) -> None:
    said = tmas.mistake("solve", "sub/gone.txt")
    assert said == "problem: there is no file sub/gone.txt. Check the path."
    assert scripted.requests == []


def test_a_folder_and_a_file_that_is_no_text(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    (place / "p.txt").write_bytes(b"\xff\xfe")
    assert "p.txt is no UTF-8 text" in tmas.mistake("solve", "p.txt")
    assert "there is no file" in tmas.mistake("solve", str(place))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-T", "0"], "command line: iterations: it should be greater than or equal to 1, but 0"),
        (["-N", "0"], "command line: candidates: it should be greater than or equal to 1"),
        (["-M", "-1"], "command line: verifications: it should be greater than or equal to 1"),
        (["--epsilon", "1.1"], "command line: epsilon: it should be less than or equal to 1"),
        (["--epsilon", "nan"], "command line: epsilon: it should be"),
        (["--preset", "papr"], "preset: there is no 'papr' (did you mean 'paper'?)"),
        (["--set", "candidats=2"], "there is no 'candidats' (did you mean 'candidates'?)"),
        (["--set", "candidates"], "--set: 'candidates' has no value. Write name=value."),
        (["--set", "roles.summry.model=x"], "'roles.summry' (did you mean 'summary'?)"),
        (["--set", "candidates.x=2"], "'candidates' has no parts"),
        (["--base-url", "localhost:1"], "base_url: it is no URL like http://127.0.0.1:8000/v1"),
        (["--config", "gone.toml"], "gone.toml: can't be read (No such file or directory)"),
        (["--set", "prompts_folder=gone"], "prompts: gone is no folder."),
    ],
)
def test_a_wrong_setting(
    tmas: Tmas, scripted: ScriptedServer, arguments: list[str], said: str
) -> None:
    assert said in tmas.mistake("solve", "What?", *arguments)
    assert scripted.requests == []


def test_a_wrong_variable_or_file(tmas: Tmas, monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setenv("TMAS_ITERATIONS", "x")
    assert "TMAS_ITERATIONS: iterations: it should be a valid integer" in tmas.mistake("settings")
    monkeypatch.delenv("TMAS_ITERATIONS")
    monkeypatch.setenv("TMAS_ITERATION", "3")
    assert "(did you mean 'TMAS_ITERATIONS'?)" in tmas.mistake("settings")
    monkeypatch.delenv("TMAS_ITERATION")
    (place / "tmas.toml").write_text("x = \n")
    assert "tmas.toml: is no valid TOML" in tmas.mistake("settings")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_variable_that_is_nested_too_deep(
    tmas: Tmas, monkeypatch: pytest.MonkeyPatch, opening: str
) -> None:
    monkeypatch.setenv("TMAS_EXTRA_BODY", opening * 30_000)
    said = tmas.mistake("settings")
    assert said.startswith("TMAS_EXTRA_BODY: ")
    assert said.endswith("is nested too deep. Give an object with few levels.")
    assert len(said) < 200


def test_an_endpoint_that_is_down(tmas: Tmas) -> None:
    with server() as gone:
        pass
    said = tmas.mistake("solve", "What?", "--base-url", gone.base_url)
    assert said == (
        f"{gone.base_url}: it can't be reached (Connection refused). "
        "Start the server, or set base_url."
    )


def test_a_wrong_key(tmas: Tmas, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted.change(key="right")
    monkeypatch.setenv("TMAS_API_KEY", "wr0ng")
    said = tmas.mistake("solve", "What?")
    reason = "HTTP 401: Incorrect API key provided"
    assert said == f"{scripted.base_url}: the key is refused ({reason}). Set TMAS_API_KEY."


def test_an_unknown_model(tmas: Tmas, scripted: ScriptedServer) -> None:
    said = tmas.mistake("solve", "What?", "--model", "scriptd")
    assert "model 'scriptd' is not served (did you mean 'scripted'?)" in said
    assert said.endswith("It serves: scripted.")


def test_a_base_url_without_its_end(tmas: Tmas, scripted: ScriptedServer) -> None:
    assert "it ends in /v1" in tmas.mistake("solve", "What?", "--base-url", scripted.url)


@pytest.mark.parametrize("command", ["show", "resume"])
def test_an_unknown_thread(tmas: Tmas, scripted: ScriptedServer, place: Path, command: str) -> None:
    said = tmas.mistake(command, "nothing", "--home", "new")
    assert not (place / "new").exists()
    assert "threads: there is no 'nothing'" in said
    assert "`tmas threads` lists them." in said


@pytest.mark.parametrize("command", ["show", "resume", "show --calls", "show --call=x"])
def test_a_thread_whose_name_is_no_text(tmas: Tmas, scripted: ScriptedServer, command: str) -> None:
    said = tmas.mistake(*command.split(), "nothing\udcff")
    assert "there is no 'nothing\\\\udcff'" in said


@pytest.mark.parametrize(
    ("command", "home"),
    [
        *product(
            ["solve What?", "threads", "show x", "resume x"], ["file", "file/below", "broken"]
        ),
        ("solve What?", "/proc/tmas"),  # to look for a thread needs no folder
    ],
)
def test_a_state_folder_that_cant_be_used(
    tmas: Tmas, scripted: ScriptedServer, place: Path, command: str, home: str
) -> None:
    (place / "file").write_text("")
    (place / "broken").mkdir()
    (place / "broken" / "tmas.sqlite").write_bytes(b"no database at all" * 100)
    said = tmas.mistake(*command.split(), "--home", home)
    assert said.startswith(f"state folder: {home} can't be used (")
    assert said.endswith("Give another with --home or TMAS_HOME.")
    assert scripted.requests == []


def test_a_memory_folder_that_cant_be_used(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    (place / "file").write_text("")
    said = tmas.mistake("solve", "What?", "--set", "memory_folder=file")
    assert said.startswith("memory: file can't be used (")
    assert scripted.requests == []


def test_a_missing_extra(tmas: Tmas, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it weren't installed
    said = tmas.mistake("solve", "What?")
    assert 'pip install "tmas-graph[local]"' in said


def test_when_all_candidates_fail_it_says_why_and_how_to_go_on(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(fail=lambda r: 503)
    done = tmas("solve", "What?", "--json")
    assert (done.code, done.out) == (2, "")
    first, second = done.err.splitlines()
    assert "no candidate came through; 2 of 2 failed" in first
    assert "HTTP 503" in first
    scripted.change(fail=None)
    resume = second.partition("tmas ")[2].split()
    assert tmas(*resume).code == 0
