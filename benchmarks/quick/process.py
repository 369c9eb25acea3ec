"""The quick server in a process of its own, and what it has counted."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]


class QuickServer:
    """The server, inside `with`; it ends with its parent at the latest."""

    def __init__(self, **options: object) -> None:
        """Give it these options of its command line."""
        self._options = [f"--{name}={value}" for name, value in options.items()]
        self._process: subprocess.Popen[str] | None = None
        self.base_url = ""
        """What a client takes."""

    def __enter__(self) -> Self:
        """Start it, and learn its URL."""
        command = [sys.executable, "-m", "benchmarks.quick.server", *self._options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip()
        if not self.base_url:
            self.__exit__()
            raise RuntimeError("quick server: it did not start; its standard error says why.")
        return self

    def __exit__(self, *error: object) -> None:
        """End it."""
        if self._process:
            with self._process:
                self._process.kill()


def counts(base_url: str) -> dict[str, int]:
    """What the server there was asked, and what it answered."""
    found: dict[str, int] = _got(base_url, "counts")
    return found


def answers(base_url: str) -> list[tuple[str, float]]:
    """The digest of each request that was answered whole, and when, in that order."""
    return [(digest, at) for digest, at in _got(base_url, "answers")]


def _got(base_url: str, what: str) -> Any:
    with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/{what}") as answer:
        return json.load(answer)


def problems_file(file: Path, count: int) -> Path:
    """`file` with so many problems in it, whose right answer is 42."""
    asked = "Let it be a number with the property above, and no other one. " * 6
    rows = (
        {"problem_id": f"p{i}", "question": f"What is {i} + x? {asked}", "answer": "42"}
        for i in range(count)
    )
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file
