"""What tests of runs begin with: a scripted server, a file of problems, a run's folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from runs_on_script import problems_file


@pytest.fixture
async def at() -> AsyncIterator[ScriptedServer]:
    async with server(script=Reasoner().short(), role_of=role_of) as it:
        yield it


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return problems_file(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "a"
