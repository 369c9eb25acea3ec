"""The quick server in a process of its own, and what it has counted."""

import json
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks.serving import served


def quick_server(**options: object) -> AbstractContextManager[str]:
    """The base URL of the server with these options of its command line, inside `with`."""
    named = [f"--{name}={value}" for name, value in options.items()]
    return served("benchmarks.quick.server", *named)


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
