"""A fake vLLM for every test that asks for one."""

from collections.abc import AsyncIterator

import pytest

from grpo.fake_vllm import FakeVllm


@pytest.fixture
async def fake() -> AsyncIterator[FakeVllm]:
    """A server that answers as vLLM does."""
    async with FakeVllm() as server:
        yield server
