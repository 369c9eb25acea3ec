"""What a store holds, and where it is."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Data = Mapping[str, str | int | float | bool]
"""What stands beside a text; Chroma can be asked for it."""


@dataclass(frozen=True, slots=True)
class Where:
    """Where a store is; with neither, in the memory of this process."""

    folder: str | None = None
    server: str | None = None
    """URL of a Chroma server; it wins over a folder."""

    def __str__(self) -> str:
        """As messages name it."""
        return self.server or self.folder or "the store in memory"

    @property
    def path(self) -> Path | None:
        """The folder, if the store is in one; every spelling of one folder gives the same."""
        return None if self.server or not self.folder else Path(os.path.realpath(self.folder))


@dataclass(frozen=True, slots=True)
class Row:
    """One text with its vector."""

    id: str
    text: str
    data: Data
    vector: Sequence[float] = field(default=(), compare=False)
    """As long as the collection's others; empty in what is read without vectors."""
    distance: float = 0.0
    """Cosine distance from what was asked for, in [0, 2]; of what was searched for."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are meant, by what stands beside their texts; with nothing set, all."""

    equal: Data = field(default_factory=dict)
    unequal: Data = field(default_factory=dict)
