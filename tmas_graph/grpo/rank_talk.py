"""What the first rank tells the others: it alone speaks to the server, and writes files."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch.distributed as dist

from tmas_graph.grpo.parity import Logprobs
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.together import OneThread

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class RankTalk:
    """All collectives happen in `thread`, in the same order on every rank.

    A rank that fails ends its process, and torchrun then ends the others; none is told.
    """

    ranks: Ranks = field(default_factory=Ranks)
    thread: OneThread = field(default_factory=lambda: OneThread("training"))

    @property
    def is_first(self) -> bool:
        """Is this the rank that speaks and writes?"""
        return self.ranks.rank == 0

    async def from_first(self, make: Callable[[], Awaitable[_T]]) -> _T:
        """Give every rank what `make` gives on the first one."""
        made = await make() if self.is_first else None
        if self.ranks.size > 1:
            made = await self.thread.run(lambda: self._broadcast(made))
        assert made is not None
        return made

    @asynccontextmanager
    async def forwards(self, logprobs: Logprobs) -> AsyncIterator[Logprobs | None]:
        """Let the first rank use `logprobs`, in whose forward all take part; others get None."""
        if self.ranks.size == 1:
            yield logprobs
        elif not self.is_first:
            await self.thread.run(lambda: self._take_part(logprobs))
            yield None
        else:

            def asked(prompt: Sequence[int], completion: Sequence[int]) -> Sequence[float]:
                self._broadcast((prompt, completion))
                return logprobs(prompt, completion)

            try:
                yield asked
            finally:
                self._broadcast(None)

    def _take_part(self, logprobs: Logprobs) -> None:
        while (asked := self._broadcast(None)) is not None:
            logprobs(*asked)

    def _broadcast(self, value: Any) -> Any:
        sent = [value]
        dist.broadcast_object_list(sent, src=0, device=None)
        return sent[0]
