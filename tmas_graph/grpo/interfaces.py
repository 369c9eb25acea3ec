"""What the trainer needs of its surroundings; a server, a test or another package can give it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tmas_graph.grpo.novelty import Judge, Similarity
from tmas_graph.grpo.rewards import Grader
from tmas_graph.grpo.rows import Message, Row
from tmas_graph.grpo.samples import Rate
from tmas_graph.grpo.sampling import Group, Served

Logprobs = Callable[[Sequence[int], Sequence[int]], Sequence[float]]
"""`(prompt_ids, completion_ids)` to the trainer's log-probability of each completion token."""


class Sampler(Protocol):
    """Draws completions."""

    served: Served
    """What is asked for from now on; the trainer replaces it after each push."""

    async def group(self, messages: Sequence[Message], seed: int, n: int | None = None) -> Group:
        """Draw `n` completions of one prompt."""
        ...


class Pusher(Protocol):
    """Makes the sampler's server draw from the policy as it is now."""

    async def push(self, model: Any, version: int) -> Served:
        """Give the server the weights of `model`."""
        ...

    async def close(self) -> None:
        """Leave the server as others can use it."""
        ...


class Agreement(Protocol):
    """How far server and trainer are apart."""

    @property
    def difference(self) -> float:
        """Largest difference of a token's two log-probabilities."""
        ...


Check = Callable[[Sequence[Message], Logprobs], Awaitable[Agreement]]
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
    """How completions are judged; all of it is called in a thread beside the event loop."""

    grader: Grader
    similarity: Similarity
    judge: Judge | None = None
    try_tmas: TryTmas | None = None
    """None: TMAS isn't tried with the policy."""
