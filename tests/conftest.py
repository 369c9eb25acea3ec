"""What every test may use."""

from collections.abc import AsyncIterator

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
