"""Samples ahead of the trainer: while it learns from one batch, the next one is drawn.

Groups come in the order of their prompts, never of their arrival, and each prompt has its own
seeds: which samples are learned from depends on the policy alone, not on the server's pace.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from tmas_graph.errors import RequestRefused, SettingsError
from tmas_graph.grpo.samples import Group
from tmas_graph.grpo.sampling import Sampling, Served

Asked = TypeVar("Asked")
_Asked = TypeVar("_Asked", contravariant=True)
_MISCONFIGURED = frozenset({401, 403, 404})
"""Refusals that every prompt would meet."""
_LARGEST_SEED, _RUNS_APART = 2**63, 2**40


class GroupSampler(Protocol[_Asked]):
    """Draws a group for what is asked: the messages of a prompt, or prompts that share a group."""

    @property
    def served(self) -> Served:
        """What is asked for from now on; says the trainer's version."""
        ...

    @property
    def sampling(self) -> Sampling:
        """How completions are drawn."""
        ...

    async def group(self, asked: _Asked, seed: int, /) -> Group:
        """Draw a group; no member has a seed below `seed` or from `seed` + group_size on."""
        ...


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

    @property
    def is_drawn(self) -> bool:
        """Is there a group?"""
        return self.task.done() and not self.task.cancelled() and not self.task.exception()

    @property
    def has_failed(self) -> bool:
        """Did it end without a group, for a reason that may have passed?"""
        if not self.task.done() or self.is_drawn:
            return False
        return self.task.cancelled() or not isinstance(self.task.exception(), RequestRefused)


class Producer(Generic[Asked]):
    """Draws groups for prompts 0, 1, 2, …; used inside `async with`.

    Not more than the next batch is drawn ahead. A trainer that takes a batch, learns from it and
    pushes therefore gets groups of the version before its own; older ones are dropped.
    """

    def __init__(
        self,
        sampler: GroupSampler[Asked],
        prompt_of: Callable[[int], Asked],
        *,
        start: int = 0,
        seed: int = 0,
        staleness: int = 1,
    ) -> None:
        """Begin with prompt `start`, as after so many consumed ones.

        Args:
            sampler: draws for what `prompt_of` gives.
            prompt_of: gives what is asked by its place; it never ends.
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
        self.consumed = start
        """How many prompts are done with: where another producer is to start."""
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

    async def take(self, count: int) -> tuple[Produced, ...]:
        """Give the next `count` groups, and begin with the batch after them.

        Raises:
            EndpointDown: the server can't be reached, or keeps failing.
            RequestRefused: it refuses every prompt.
            SettingsError: it isn't a vLLM that was started for this.
        """
        ready = refused = 0
        while ready < count:
            self._fill(count + self._staleness * count)
            try:
                group = await asyncio.shield(self._pending[ready].task)
            except RequestRefused as error:
                refused += 1
                if error.status in _MISCONFIGURED or (refused >= max(count, 2) and not ready):
                    raise
                self.counts.refused += 1
                del self._pending[ready]
                continue
            if self._is_stale(group):
                self._redraw_stale()
            else:
                ready += 1
        # Not before the batch is whole: where it fails or is given up, nothing is lost.
        batch = [self._pending.popleft() for _ in range(count)]
        self.consumed = batch[-1].index + 1
        return tuple(Produced(pending.index, pending.task.result()) for pending in batch)

    def _fill(self, outstanding: int) -> None:
        """Begin with further prompts, until so many are asked for and not yet taken."""
        for place, pending in enumerate(self._pending):
            if pending.has_failed:
                self._pending[place] = self._begun(pending.index)
        while len(self._pending) < outstanding:
            self._pending.append(self._begun(self._next))
            self._next += 1

    def _begun(self, index: int) -> _Pending:
        stride = self._sampler.sampling.group_size  # member i of a group has the seed + i
        seed = (self._seed * _RUNS_APART + index * stride) % (_LARGEST_SEED - stride)
        drawing = self._sampler.group(self._prompt_of(index), seed)
        return _Pending(index, asyncio.create_task(drawing))

    def _is_stale(self, group: Group) -> bool:
        return group[0].version < self._sampler.served.version - self._staleness

    def _redraw_stale(self) -> None:
        """Begin anew with all groups that are done and too old: they are drawn side by side."""
        for place, pending in enumerate(self._pending):
            if pending.is_drawn and self._is_stale(pending.task.result()):
                self.counts.stale += 1
                self._pending[place] = self._begun(pending.index)
