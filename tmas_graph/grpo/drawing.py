"""Draws the groups of a step, those of two prompts included, at most one batch ahead."""

from dataclasses import dataclass
from typing import Self

from tmas_graph.grpo.asking import Asking, Task
from tmas_graph.grpo.interfaces import Sampler
from tmas_graph.grpo.producing import Counts, Producer
from tmas_graph.grpo.rewards import Mode
from tmas_graph.grpo.samples import Group
from tmas_graph.grpo.sampling import Sampling, Served
from tmas_graph.grpo.together import all_of


@dataclass(frozen=True, slots=True)
class Drawn:
    """A group with what was asked."""

    index: int
    task: Task
    samples: Group
    """In the order of the task's parts."""

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The mode of each sample."""
        return tuple(part.mode for part in self.task.parts for _ in range(part.size))


class Drawing:
    """Groups in the order of `asking`; used inside `async with`."""

    def __init__(
        self, sampler: Sampler, asking: Asking, sampling: Sampling, *, seed: int, ahead: int
    ) -> None:
        """Begin nothing yet."""
        self._asking = asking
        self._parts = _PartSampler(sampler, sampling)
        self._seed = seed
        self._ahead = ahead
        self._producer: Producer[Task] | None = None

    async def __aenter__(self) -> Self:
        """Give itself; nothing is asked before the first batch is."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Give up what is in flight."""
        if self._producer is not None:
            await self._producer.__aexit__(*error)

    async def take(self, count: int, start: int) -> tuple[Drawn, ...]:
        """Give the next `count` groups; `start` counts where none was taken before."""
        if self._producer is None:
            self._producer = Producer(
                self._parts, self._asking, start=start, seed=self._seed, staleness=self._ahead
            )
        taken = await self._producer.take(count)
        return tuple(Drawn(one.index, self._asking(one.index), one.group) for one in taken)

    @property
    def counts(self) -> Counts:
        """What didn't become part of a batch."""
        return self._producer.counts if self._producer else Counts()


class _PartSampler:
    """A sampler whose prompts are tasks; what Producer sees."""

    def __init__(self, sampler: Sampler, sampling: Sampling) -> None:
        self.sampling = sampling
        self._sampler = sampler

    @property
    def served(self) -> Served:
        return self._sampler.served

    async def group(self, task: Task, seed: int, /) -> Group:
        """Draw all parts of `task`, each with seeds of its own."""
        seeds = [seed]
        for part in task.parts:
            seeds.append(seeds[-1] + part.size)
        # They begin in this order, so the first sample is of the oldest version.
        groups = await all_of(
            self._sampler.group(part.prompt, first, part.size)
            for part, first in zip(task.parts, seeds, strict=False)
        )
        return tuple(sample for group in groups for sample in group)
