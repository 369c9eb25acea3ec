"""What tests of the trainer share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Tiny tensors are slower with more threads, and several test processes share the machine."""
    torch.set_num_threads(1)
