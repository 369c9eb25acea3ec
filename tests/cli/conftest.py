"""The command line as a user has it: an empty folder, no TMAS_ variables, a scripted server."""

import io
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import ScriptedServer, server

from tmas_graph.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Tmas:
    """Runs `tmas` in this process, as the installed script does."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, stdin: str = "") -> Done:
        """Run it with `arguments`."""
        self.monkeypatch.setattr(sys, "argv", ["tmas", *arguments])
        given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        self.monkeypatch.setattr(sys, "stdin", given)
        self.capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Done(code, *self.capsys.readouterr())

    def mistake(self, *arguments: str, stdin: str = "") -> str:
        """What it says of a user's mistake: one line on the standard error, and status 2."""
        done = self(*arguments, stdin=stdin)
        assert (done.code, done.out) == (2, "")
        [line] = done.err.splitlines()
        assert line.startswith("tmas: ")
        assert line.endswith((".", ".)"))
        return line.removeprefix("tmas: ")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with nothing set in the environment but where to keep state."""
    for name in [name for name in os.environ if name.startswith("TMAS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TMAS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tmas(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tmas:
    """`tmas(*arguments)`."""
    return Tmas(monkeypatch, capsys)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A server that the environment names, with small defaults for a run."""
    with server(script=Reasoner().short()) as it:
        small = {"BASE_URL": it.base_url, "CANDIDATES": "2", "VERIFICATIONS": "2"}
        for name, value in {**small, "ITERATIONS": "1", "ATTEMPTS": "1"}.items():
            monkeypatch.setenv(f"TMAS_{name}", value)
        yield it
