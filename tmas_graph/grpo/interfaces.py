"""What the trainer needs of its surroundings; a server, a test or another package can give it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tmas_graph.grpo.novelty import Judge, Similarity
from tmas_graph.grpo.parity import Logprobs, Parity
from tmas_graph.grpo.rewards import Grader
from tmas_graph.grpo.rows import Message, Row
from tmas_graph.grpo.samples import Group, Rate
from tmas_graph.grpo.sampling import Served


class Sampler(Protocol):
    """Draws completions."""

    served: Served
    """What is asked for from now on; the trainer replaces it after each push."""

    async def group(self, messages: Sequence[Message], seed: int, n: int | None = None) -> Group:
        """Draw `n` completions of one prompt."""
        ...


class Pusher(Protocol):
    """Makes the sampler's server draw from the policy as it is now.

    Three ways, a file each: `pushing_lora`, `pushing_disk`, `pushing_nccl`. All ranks of a trainer
    call it, since gathering shards takes all of them; rank 0 alone writes and speaks to the server.
    """

    async def push(self, model: Any, version: int) -> Served:
        """Give the server the weights of `model`, and say what to ask it for from now on.

        Raises:
            EndpointDown: the server can't be reached, or failed; the text says in what state.
            RequestRefused: it was started without what this way needs.
            SettingsError: this way can't be gone with this model.
        """
        ...

    async def close(self) -> None:
        """Leave the server as others can use it."""
        ...


Check = Callable[[Sequence[Message], Logprobs], Awaitable[Parity]]
"""Draws at the server and compares; raises PolicyMismatch where the two are too far apart."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """All that belongs to the server."""

    sampler: Sampler
    pusher: Pusher
    check: Check


TryTmas = Callable[[Served, Sequence[Row], int], Awaitable[Mapping[str, Rate]]]
"""`(policy, held-out rows, step)` to rates by name, such as pass@1 of each iteration."""


@dataclass(frozen=True, slots=True)
class Tools:
    """How completions are judged; `grader` and `similarity` are called in threads."""

    grader: Grader
    similarity: Similarity
    judge: Judge | None = None
    """None: that of the settings, if they name one."""
    try_tmas: TryTmas | None = None
    """None: TMAS isn't tried with the policy."""
