"""What every test may use."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tmas_graph.models import pool


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def pooled() -> AsyncIterator[None]:
    """Closes the connections that an asynchronous test has opened."""
    yield
    await pool.close()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Begin with what takes long: last, it would run alone."""
    items.sort(key=lambda item: item.get_closest_marker("early") is None)
