import json
import os
from pathlib import Path

import pytest

from tmas_graph.answers import equivalence, workers

CASES = Path(__file__).parents[1] / "cases" / "grading.jsonl"


def shared(*parts: str) -> Path:
    """Give a file of the shared test data; skip where it isn't there."""
    folder = os.environ.get("TMAS_DATA")
    if not folder:
        pytest.skip("TMAS_DATA is not set: the shared cases are not here")
    return Path(folder).joinpath(*parts)


def rows(path: Path) -> list[dict[str, object]]:
    """Read a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def fresh_verdicts():
    """Start without remembered verdicts."""
    equivalence.forget()
    yield
    equivalence.forget()


@pytest.fixture(scope="session", autouse=True)
def no_worker_left():
    """End the workers with the tests."""
    yield
    workers.pool().close()
