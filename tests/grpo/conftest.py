"""What tests of the trainer share."""

from collections.abc import AsyncIterator

import pytest
import torch

from grpo.fake_vllm import FakeVllm


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Tiny tensors are slower with more threads, and several test processes share the machine."""
    torch.set_num_threads(1)


@pytest.fixture
async def fake() -> AsyncIterator[FakeVllm]:
    """A server that answers as vLLM does."""
    async with FakeVllm() as server:
        yield server
