import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.protocol import Request, ScriptedReply
from endpoints.scripted import ScriptedServer
from typer.testing import CliRunner

import tmas_graph
from tmas_graph.cli.commands import app

OWN = "roles.solution.max_tokens"


def test_without_a_terminal_each_event_is_a_line(tmas: Tmas, scripted: ScriptedServer) -> None:
    done = tmas("solve", "What is 6·7?", "-T", "2", "--epsilon", "0")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert re.fullmatch(r"thread \S+ · N 2 · M 2 · T 2 · ε 0 · http://\S+", lines[0])
    assert [line for line in lines if line.startswith("iteration")] == [
        "iteration 0: 2 initial",
        "iteration 1: 2 exploit",
    ]
    for t in (0, 1):
        for i in (0, 1):
            assert sum(line.startswith(f"  {t}.{i} ") for line in lines) == 1
    assert "experience bank: 3 new items" in done.out
    assert "guideline bank: 2 new strategies" in done.out
    assert re.search(r"^answer: \d+   \(confidence \d+%\)$", done.out, re.MULTILINE)
    assert f"{len(scripted.requests)} calls" in done.out
    assert "\x1b" not in done.out


def test_json_is_all_that_is_printed(tmas: Tmas, scripted: ScriptedServer) -> None:
    done = tmas("solve", "What is 6·7?", "--json")
    told = json.loads(done.out)
    assert (done.code, done.err) == (0, "")
    assert told["problem"]["question"] == "What is 6·7?"
    assert told["usage"]["calls"] == len(scripted.requests) == 8
    assert told["stop"] == "iterations"
    assert told["answer"] in told["solution"]


@pytest.mark.parametrize("argument", ["-", "problem.tex"])
def test_a_problem_comes_from_stdin_or_a_file_byte_for_byte(
    tmas: Tmas, scripted: ScriptedServer, place: Path, argument: str
) -> None:
    text = "Let $\\frac{a}{b}$ be {{ x }} {% y %}.\nWhat is [bold]6·7[/bold]?"
    (place / "problem.tex").write_text(f"\n{text}\n", encoding="utf-8")
    done = tmas("solve", argument, "--json", stdin=text)
    assert json.loads(done.out)["problem"]["question"] == text
    assert all(text in r.text for r in scripted.requests)


def test_a_proof_is_asked_for_as_one(tmas: Tmas, scripted: ScriptedServer) -> None:
    done = tmas("solve", "Show that 6·7 = 42.", "--proof", "--json")
    told = json.loads(done.out)
    assert (told["problem"]["kind"], told["answer"]) == ("proof", None)
    assert "rigorous proof" in scripted.asked("solution")[0].text
    assert tmas("solve", "Show it.", "--proof").out.count("the best proof stands above") == 1


def test_text_that_looks_like_markup_is_printed_as_it_is(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(script=lambda r, c: "[bold]x[/bold] [/] \\boxed{[red]}")
    done = tmas("solve", "What?")
    assert done.code == 0
    assert "[bold]x[/bold] [/] \\boxed{[red]}" in done.out
    assert "answer: [red]" in done.out


def test_without_any_answer_it_says_what_may_help(tmas: Tmas, scripted: ScriptedServer) -> None:
    scripted.change(script=lambda r, c: ScriptedReply(text="So", finish_reason="length"))
    done = tmas("solve", "What?")
    assert done.code == 0
    assert " initial: truncated" in done.out
    assert "no answer: no candidate gave one\n" in done.out
    most = "2 of 2 candidates truncated at"
    assert f"{most} the server's limit: raise it with --set max_tokens=…" in done.out
    for option, named in (("max_tokens=9", "max_tokens"), (f"{OWN}=9", OWN)):
        told = tmas("solve", "What?", "--set", option)
        assert f"{most} max_tokens 9: raise it with --set {named}=…" in told.out


def test_where_replies_are_whole_or_few_truncated_nothing_is_said_of_their_length(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    def script(request: Request, choice: int) -> ScriptedReply | str:
        if request.agent == "solution" and request.index == 0:
            return ScriptedReply(text="So", finish_reason="length")
        return ScriptedReply(text="I don't know.")

    scripted.change(script=script)
    done = tmas("solve", "What?")
    assert " initial: truncated" in done.out
    assert "truncated at" not in done.out
    assert "no answer: no candidate gave one; allow longer ones: --set max_tokens=…" in done.out


def test_a_candidate_that_fails_is_shown_with_its_cause(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(fail=lambda r: 400 if r.agent == "solution" and r.index == 0 else None)
    done = tmas("solve", "What is 6·7?")
    assert done.code == 0
    assert re.search(r"0\.\d initial: failed \(solution: http.*HTTP 400", done.out)


def test_it_runs_as_a_module_and_through_typer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tmas_graph", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"tmas-graph {tmas_graph.__version__}\n"
    result = CliRunner().invoke(app, ["solve", "--help"])
    assert result.exit_code == 0
    assert "--proof" in result.output


@pytest.mark.parametrize(
    "arguments", [["solve"], ["solve", "x", "--nonsense"], ["nonsense"], ["solve", "x", "-N", "a"]]
)
def test_a_misused_option_ends_with_status_2(tmas: Tmas, arguments: list[str]) -> None:
    done = tmas(*arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err
