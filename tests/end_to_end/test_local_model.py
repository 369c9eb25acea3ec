"""The whole method on the real SmolLM2-135M: it completes, parses, remembers, and resumes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tmas_graph.progress import attempts
from tmas_graph.running import run_blocking
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.local_model, pytest.mark.early]

QUESTION = "A box holds 6 eggs. How many eggs are in 7 boxes?"
SMALL = ("-N", "2", "-M", "2", "-T", "2", "--seed", "3")


def tmas(*arguments: str) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tmas_graph", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stored(home: Path, thread: str):
    """The state of a thread and its experience items."""

    async def read():
        async with open_threads(home) as store:
            return await store.values(thread)

    return run_blocking(read)


@pytest.mark.timeout(600)
def test_it_is_interrupted_goes_on_and_remembers(tmp_path):
    home = ("--home", str(tmp_path))
    first = tmas("solve", QUESTION, *SMALL, *home)
    assert first.stdout is not None
    said = ""
    for line in first.stdout:  # until a candidate came through
        said += line
        if "initial: " in line:
            break
    first.send_signal(signal.SIGINT)
    _, complaint = first.communicate(timeout=60)
    assert first.returncode == 130, said + complaint
    thread = complaint.split("tmas resume ")[1].split()[0].strip("`")

    second = tmas("resume", thread, "--json", *home)
    out, complaint = second.communicate(timeout=400)
    assert second.returncode == 0, complaint
    result = json.loads(out)
    assert result["iterations"] == 2
    assert result["solution"]
    assert result["usage"]["completion_tokens"] > 0

    values = stored(tmp_path, thread)
    tried = attempts(values)
    assert len(tried) == 4
    assert any(a.answer is not None for a in tried)
    assert any(a.score is not None for a in tried)
    assert values["experience"] or values["strategies"]

    told = subprocess.run(
        [sys.executable, "-m", "tmas_graph", "show", thread, *home],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert QUESTION in told
    assert "Experience bank" in told
