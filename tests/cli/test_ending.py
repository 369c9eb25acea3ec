"""How a command ends that is stopped from outside."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.reasoner import Reasoner
from endpoints.scripted import server
from runs_on_script import problems_file, run_ended_by

from tmas_graph.cli.ending import terminable

WAITS = "import signal\nprint('here', flush=True)\nsignal.pause()\n"
STOPS = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("module", ["typer", "scipy"])
def test_while_modules_are_loaded_a_stop_is_one_line(
    place: Path, module: str, stop: signal.Signals
) -> None:
    (place / "slow").mkdir()
    (place / "slow" / f"{module}.py").write_text(WAITS)
    paths = (str(place / "slow"), os.environ.get("PYTHONPATH", ""))
    running = subprocess.Popen(
        [sys.executable, "-m", "tmas_graph", "compare", "a"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "here\n"
    running.send_signal(stop)
    _, said = running.communicate(timeout=120)
    assert (running.returncode, said) == (STOPS[stop], "tmas: interrupted\n")


@pytest.mark.timeout(240)
def test_sigterm_ends_a_run_as_ctrl_c_does(
    tmas: Tmas, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems_file(place)
    with server(script=Reasoner().short(), latency=0.05) as at:
        monkeypatch.setenv("TMAS_BASE_URL", at.base_url)
        status, said = run_ended_by(signal.SIGTERM, "problems.jsonl")
        assert status == 143
        assert said == "tmas: interrupted; `tmas run --resume a` goes on\n"
        done = tmas("run", "--resume", "a")
        assert "4 of 4 done" in done.out


def test_sigterm_stops_what_ignores_ctrl_c_and_is_let_go_of_afterwards() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), terminable():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
