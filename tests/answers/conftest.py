import json
import os
from pathlib import Path

import pytest

from tmas_graph.answers import equivalence, workers


@pytest.fixture
def shared_rows():
    """Read a JSONL file of the shared test data; skip where that isn't there."""
    folder = os.environ.get("TMAS_DATA")
    if not folder:
        pytest.skip("TMAS_DATA is not set: the shared cases are not here")

    def read(*parts):
        text = Path(folder).joinpath(*parts).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    return read


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
