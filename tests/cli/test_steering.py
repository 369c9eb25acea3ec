"""Nothing that a model or a server says steers the terminal that shows it."""

import io
import re

import pytest
from cli.conftest import Tmas
from endpoints.protocol import Failure
from endpoints.reasoner import Reasoner
from endpoints.scripted import ScriptedServer
from rich.console import Console

from tmas_graph.cli.live import LiveView
from tmas_graph.cli.plain import line, plain
from tmas_graph.records import Record
from tmas_graph.settings import Settings
from tmas_graph.state import Problem

HOSTILE = "\x1b[2J\x00\x07\x7f\x9b1m\u202e\u2066\u200f\u061c"
STEERING = re.compile(
    r"[^\x20-\x7e\n\t\xa0-\U0010ffff]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def test_controls_are_written_as_escapes_and_the_rest_stays() -> None:
    assert plain("a\tb\n\x1b[1m\u202ec\ud800日本é\xa0") == (
        "a\tb\n\\x1b[1m\\u202ec\\ud800日本é\xa0"
    )
    assert line(" a\tb\r\n\x85c ") == "a b c"
    assert plain(plain(HOSTILE)) == plain(HOSTILE)


def test_a_model_cant_steer_the_report_nor_the_lists(tmas: Tmas, scripted: ScriptedServer) -> None:
    scripted.change(script=lambda r, c: f"{HOSTILE} so \\boxed{{4{HOSTILE}}} {HOSTILE}")
    done = tmas("solve", "What?")
    assert done.code == 0
    thread = tmas("threads").out.splitlines()[1].split()[0]
    for out in (done.out, tmas("show", thread).out, tmas("threads").out):
        assert not STEERING.findall(out)
        assert r"\x1b[2J" in out


def test_a_model_cant_steer_the_banks(tmas: Tmas, scripted: ScriptedServer) -> None:
    reasoner = Reasoner().short()
    scripted.change(
        script=lambda r, c: re.sub("EXP-|STRAT-", rf"\g<0>{HOSTILE}", reasoner(r, c).text)
    )
    assert tmas("solve", "What?", "-T", "2").code == 0
    thread = tmas("threads").out.splitlines()[1].split()[0]
    out = tmas("show", thread).out
    assert not STEERING.findall(out)
    assert "EXP- [2J" in out  # an item is one line without controls
    assert r"STRAT-\x1b[2J" in out


def test_a_server_cant_steer_the_terminal_by_its_errors(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(fail=lambda r: Failure(status=400, message=f"no{HOSTILE}"))
    done = tmas("solve", "What?")
    assert done.code == 2
    thread = tmas("threads").out.splitlines()[1].split()[0]
    for out in (done.out, done.err, tmas("show", thread).out):
        assert not STEERING.findall(out)
        assert "[2J" in out


def test_a_server_cant_steer_the_terminal_by_its_models_names(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(models=(f"a{HOSTILE}\nb", "x" * 1000, *(f"m{n}" for n in range(20))))
    for arguments in (["--model", "mine"], []):
        said = tmas.mistake("solve", "What?", *arguments)
        assert not STEERING.findall(said)
        assert r"a\x1b[2J" in said
        assert f"{'x' * 79}…, m0, m1, m2, m3, m4, m5, m6, m7 and 12 more." in said


@pytest.mark.parametrize("key", ["question", "answer"])
def test_the_live_view_cant_be_steered(key: str) -> None:
    said = {"question": "What?", "answer": "4", key: HOSTILE}
    view = LiveView(Console(file=io.StringIO()))
    view.record = Record("t", Problem(said["question"]), Settings(), {}, {}, 0, "", "", "", "")
    view.on_event({"event": "iteration", "iteration": 0, "modes": ["initial"]})
    view.on_event(
        {
            "event": "standing",
            "iteration": 0,
            "answer": said["answer"],
            "share": 1.0,
            "score": None,
            "calls": 1,
            "tokens": 1,
            "cost": 0.0,
        }
    )
    drawn = Console(file=io.StringIO(), width=200)
    drawn.print(view.picture())
    out = drawn.file.getvalue()  # type: ignore[attr-defined]
    assert not STEERING.findall(out)
    assert r"\x1b[2J" in out
