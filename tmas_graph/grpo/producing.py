"""Samples ahead of the trainer: while it learns from one batch, the next one is drawn.

Groups come in the order of their prompts, never of their arrival, and each prompt has its own
seeds: which samples are learned from depends on the policy alone, not on the server's pace.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from tmas_graph.errors import RequestRefused, SettingsError
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.sampling import Group, Sampler

PromptOf = Callable[[int], Sequence[Message]]
_MISCONFIGURED = frozenset({401, 403, 404})
"""Refusals that every prompt would meet."""
_LARGEST_SEED = 2**63


@dataclass(frozen=True, slots=True)
class Produced:
    """A group, and the place of its prompt."""

    index: int
    group: Group


@dataclass(slots=True)
class Counts:
    """What didn't become part of a batch."""

    stale: int = 0
    """Groups that were too old when their turn came; drawn anew."""
    refused: int = 0
    """Prompts that the server refused, as too long, say; left out."""


@dataclass(frozen=True, slots=True)
class _Pending:
    index: int
    task: asyncio.Task[Group]


class Producer:
    """Draws groups for prompts 0, 1, 2, …; used inside `async with`.

    Not more than the next batch is drawn ahead. A trainer that takes a batch, learns from it and
    pushes therefore gets groups of the version before its own; older ones are dropped.
    """

    def __init__(
        self,
        sampler: Sampler,
        prompt_of: PromptOf,
        *,
        start: int = 0,
        seed: int = 0,
        staleness: int = 1,
    ) -> None:
        """Begin with prompt `start`, as after so many consumed ones.

        Args:
            sampler: its `served` is what is asked for, and says the trainer's version.
            prompt_of: gives the messages of a prompt by its place; it never ends.
            start: how many prompts are consumed already.
            seed: another one gives other samples throughout.
            staleness: 1: draw the next batch while the trainer learns; 0: don't.

        Raises:
            SettingsError: `staleness` is another number.
        """
        if staleness not in (0, 1):
            raise SettingsError(f"producer: staleness is {staleness}. Give 0 or 1.")
        self.counts = Counts()
        self._sampler = sampler
        self._prompt_of = prompt_of
        self._next = start
        self._seed = seed
        self._staleness = staleness
        self._pending: deque[_Pending] = deque()

    async def __aenter__(self) -> Self:
        """Give itself; nothing is asked before the first batch is."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Give up what is in flight."""
        tasks = [pending.task for pending in self._pending]
        self._pending.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def consumed(self) -> int:
        """How many prompts are done with: where another producer is to start."""
        return self._pending[0].index if self._pending else self._next

    async def take(self, count: int) -> tuple[Produced, ...]:
        """Give the next `count` groups, and begin with the batch after them.

        Raises:
            EndpointDown: the server can't be reached, or keeps failing.
            RequestRefused: it refuses every prompt.
            SettingsError: it isn't a vLLM that was started for this.
        """
        taken: list[Produced] = []
        refused = 0
        while len(taken) < count:
            self._fill((count - len(taken)) + self._staleness * count)
            pending = self._pending[0]
            try:
                group = await asyncio.shield(pending.task)
            except RequestRefused as error:
                refused += 1
                if error.status in _MISCONFIGURED or (refused >= max(count, 2) and not taken):
                    raise
                self.counts.refused += 1
                self._pending.popleft()
                continue
            if self._is_stale(group):
                self._redraw_stale()
                continue
            self._pending.popleft()
            taken.append(Produced(pending.index, group))
        return tuple(taken)

    def _fill(self, outstanding: int) -> None:
        """Begin with further prompts, until so many are asked for and not yet taken."""
        while len(self._pending) < outstanding:
            self._pending.append(self._begun(self._next))
            self._next += 1

    def _begun(self, index: int) -> _Pending:
        stride = self._sampler.sampling.group_size  # member i of a group has the seed + i
        seed = (self._seed + index * stride) % (_LARGEST_SEED - stride)
        drawing = self._sampler.group(self._prompt_of(index), seed)
        return _Pending(index, asyncio.create_task(drawing))

    def _is_stale(self, group: Group) -> bool:
        return group[0].version < self._sampler.served.version - self._staleness

    def _redraw_stale(self) -> None:
        """Begin anew with all groups that are done and too old: they are drawn side by side."""
        for place, pending in enumerate(self._pending):
            task = pending.task
            drawn = task.done() and not task.cancelled() and task.exception() is None
            if drawn and self._is_stale(task.result()):
                self.counts.stale += 1
                self._pending[place] = self._begun(pending.index)
