"""A method of one's own, by `MODULE:NAME`, on the command line."""

import json
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer
from runs_on_script import problems_file, rows

from tmas_graph.evaluation.run_folder import read_plan
from tmas_graph.methods import METHODS, own

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "methods.md"
MINE = "my_methods:best_of_two"


@pytest.fixture(autouse=True)
def module(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The ten lines of the page, in a file of the folder in which the command runs."""
    text = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    (place / "my_methods.py").write_text(text)
    (place / "broken.py").write_text("1 / 0")
    (place / "ended.py").write_text("import sys; sys.exit(3)")
    (place / "lacking.py").write_text("import no_such_module_at_all")
    monkeypatch.setattr(sys, "path", [*sys.path])
    own.brought.cache_clear()
    yield
    own.brought.cache_clear()
    sys.modules.pop("my_methods", None)


def test_it_runs_on_a_benchmark_goes_on_and_is_compared(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    problems_file(place)
    methods = f"{MINE},{MINE}[temperature=1.0]"
    done = tmas("run", "problems.jsonl", "--method", methods, "--out", "a", "--limit", "1")
    assert (done.code, done.err) == (0, "")
    assert {row.method for row in rows(place / "a")} == {MINE, f"{MINE}[temperature=1.0]"}
    assert [e.label for e in read_plan(place / "a").entrants] == methods.split(",")
    assert len(scripted.requests) == 8
    sys.modules.pop("my_methods")
    assert tmas("run", "--resume", "a", "--limit", "2").code == 0
    assert len(scripted.requests) == 16
    assert MINE in tmas("compare", "a").out
    assert MINE in tmas("estimate", "--of", "a").out
    assert json.loads(tmas("threads", "--home", "a", "--json").out)[0]["status"] == "done"


def test_it_solves_a_problem_and_is_listed(tmas: Tmas, scripted: ScriptedServer) -> None:
    assert tmas("solve", "6·7?", "--method", f"{MINE}[temperature=1.0]").code == 0
    assert {request.body["temperature"] for request in scripted.requests} == {1.0}
    [row] = json.loads(tmas("methods", "--method", MINE, "--json").out)
    assert row == {"name": MINE, "title": "Best of two", "paper": "no paper", "calls": 4}


def test_an_installed_package_brings_its_own(
    tmas: Tmas, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = (
        EntryPoint("best-of-two", MINE, own.GROUP),
        EntryPoint("lost", "no_such_module_at_all:x", own.GROUP),
    )
    monkeypatch.setattr(own, "entry_points", lambda group: brought if group == own.GROUP else ())
    monkeypatch.syspath_prepend(".")
    assert tmas("solve", "6·7?", "--method", "best-of-two").code == 0
    assert len(scripted.requests) == 4
    assert "(did you mean 'best-of-two'?)" in tmas.mistake("solve", "?", "--method", "best-of-tow")
    assert "method: lost (no_such_module_at_all:x) can't be imported" in tmas.mistake(
        *("solve", "?", "--method", "lost")
    )
    monkeypatch.setattr(own, "entry_points", lambda group: brought[:1])
    own.brought.cache_clear()
    listed = json.loads(tmas("methods", "--json").out)
    assert [row["name"] for row in listed] == [*METHODS, "best-of-two"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nowhere:x", "there is no module 'nowhere', neither installed nor in "),
        ("my_methods.sub:x", "there is no module 'my_methods.sub'"),
        ("my_methods:nothing", "there is no 'nothing' in my_methods (/"),
        ("my_methods:loop", "is a function, not a Method. Make one of it"),
        ("os:system", "is a builtin_function_or_method, not a Method"),
        ("broken:x", "broken can't be imported (ZeroDivisionError: division by zero). Mend it."),
        ("ended:x", "ended can't be imported (SystemExit: 3)"),
        ("lacking:x", "can't be imported (ModuleNotFoundError: No module named"),
        ("my_methods:", "isn't MODULE:NAME"),
        (".x:y", "isn't MODULE:NAME"),
        (f"{MINE}[epsilom=1]", "did you mean 'epsilon'"),
    ],
)
def test_what_is_no_method_is_told(tmas: Tmas, scripted, name: str, said: str) -> None:
    for arguments in (("solve", "?"), ("run", "gsm8k")):
        assert said in tmas.mistake(*arguments, "--method", name)
    assert scripted.requests == []
