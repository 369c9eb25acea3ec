"""Which prompts are drawn for, in which order, and how a group is divided between two prompts."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.rewards import Mode
from tmas_graph.grpo.rows import Prompt, Row


class Part(NamedTuple):
    """Completions of one prompt within a group."""

    mode: Mode
    prompt: Prompt
    size: int


@dataclass(frozen=True, slots=True)
class Task:
    """One group to be drawn."""

    row: Row
    parts: tuple[Part, ...]


class Asking:
    """The endless sequence of groups: every row once in each epoch."""

    def __init__(
        self, rows: Sequence[Row], *, group_size: int, paired: bool, shuffle: bool, seed: int
    ) -> None:
        """Ask for `rows`, which are fixed from now on.

        Raises:
            SettingsError: there is none.
        """
        if not rows:
            raise SettingsError(
                "data: no prompt is left to train on. See data.modes, and what "
                "`tmas train data` reported."
            )
        self._rows = tuple(rows)
        self._group_size = group_size
        self._paired = paired
        self._shuffle = shuffle
        self._seed = seed
        self._order = lru_cache(2)(self._ordered)

    def __call__(self, index: int) -> Task:
        """Give group `index`, the same whenever it is asked for."""
        epoch, place = divmod(index, len(self._rows))
        row = self._rows[self._order(epoch)[place]]
        return Task(row, parts_of(row, self._group_size, self._paired))

    def _ordered(self, epoch: int) -> list[int]:
        order = list(range(len(self._rows)))
        if self._shuffle:
            random.Random(f"{self._seed}/{epoch}").shuffle(order)
        return order


def parts_of(row: Row, group_size: int, paired: bool) -> tuple[Part, ...]:
    """Divide a group: experience rows have a half without the bank, if that prompt is known.

    Guideline rows have not: their bonus is told apart by novelty within one prompt.
    """
    if not (paired and row.source == "experience" and row.problem_prompt):
        return (Part(row.source, row.prompt, group_size),)
    half = group_size // 2
    return (
        Part("experience", row.prompt, group_size - half),
        Part("normal", row.problem_prompt, half),
    )
