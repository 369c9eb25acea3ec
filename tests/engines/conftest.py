"""One real vLLM for all tests that need it; its log is shown where one fails."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import httpx2
import pytest

from engines.api import connect
from engines.process import VllmServer

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def engine_home() -> Path:
    """The virtual environment with vLLM; a test is skipped without, unless it was promised."""
    if promised := os.environ.get("TEST_ENGINE"):
        return ROOT / promised
    home = ROOT / ".venv-vllm"
    if not (home / ".done").is_file():
        pytest.skip("no vLLM in .venv-vllm; `make test-vllm` installs it (2.5 GB)")
    return home


@pytest.fixture(scope="session")
def engine(engine_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A vLLM that serves SmolLM2 as a thinking model."""
    with VllmServer(engine_home, tmp_path_factory.mktemp("vllm") / "vllm.log") as server:
        yield server


@pytest.fixture
def client(engine: VllmServer) -> Iterator[httpx2.Client]:
    """A plain HTTP client of the server, with the right key."""
    with connect(engine.url) as client:
        yield client


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the end of the server's log to the report of a failure."""
    report = yield
    server = getattr(item, "funcargs", {}).get("engine")
    if report.failed and isinstance(server, VllmServer):
        report.sections.append(("vLLM's log", server.tail()))
    return report
