"""Starts two processes that train together, and waits for both."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def joined(script: str, meeting: Path, *arguments: object) -> None:
    """Run `script` as rank 0 and as rank 1 of two, who find each other at `meeting`."""
    paths = [str(HERE.parent), str(HERE.parent.parent)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    started = [
        subprocess.Popen(
            [sys.executable, HERE / script, str(rank), "2", str(meeting), *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [process.communicate(timeout=200)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert [process.returncode for process in started] == [0, 0], "\n".join(said)
