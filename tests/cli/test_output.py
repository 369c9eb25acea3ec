"""What becomes of a command whose output can't be written."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer

TMAS = [sys.executable, "-m", "tmas_graph"]


def into_a_full_disk(*arguments: str) -> str:
    with Path("/dev/full").open("w") as full:
        command = [*TMAS, *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 2
    return done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk to write to")
def test_output_that_cant_be_written_is_one_line(tmas: Tmas, scripted: ScriptedServer) -> None:
    assert tmas("solve", "What?").code == 0
    thread = tmas("threads").out.splitlines()[1].split()[0]
    said = (
        "tmas: output: can't be written (No space left on device). "
        "Free some room, or send it elsewhere.\n"
    )
    for arguments in (
        ("solve", "What?"),
        ("show", thread, "--calls"),
        ("show", thread, "--calls", "--jsonl"),
        ("settings", "--json"),
    ):
        assert into_a_full_disk(*arguments) == said
