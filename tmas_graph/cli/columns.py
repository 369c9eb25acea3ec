"""Tables that stay readable in a narrow terminal: they lose columns before they lose letters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_GAP = 2
_LEAST = 12
"""Letters that the last column, which takes what is left, has at least by default."""
_BLANK = frozenset({"", "0", "0.0"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ready cells; the last one of a table is cut to what room there is."""

    title: str
    cells: Sequence[str]
    rank: int = 0
    """Where room is short the highest goes first; 0 always stays."""
    right: bool = True
    """Aligned so: numbers."""
    optional: bool = False
    """Left out where all its cells are blank or zero."""

    @property
    def width(self) -> int:
        """Letters that it takes."""
        from rich.cells import cell_len

        return max(map(cell_len, (self.title, *self.cells)))


def fitted(columns: Sequence[Column], width: int, least: int = _LEAST) -> list[Column]:
    """Those of `columns` that have something to say and fit into `width` letters.

    The last one has room for `least` letters.
    """
    *fixed, last = [c for c in columns if not (c.optional and _BLANK.issuperset(c.cells))]
    needed = min(last.width, least)
    while sum(c.width + _GAP for c in fixed) + needed > width:
        lowest = max(fixed, key=lambda c: c.rank, default=None)
        if lowest is None or not lowest.rank:
            break
        fixed.remove(lowest)
    return [*fixed, last]


def table(columns: Sequence[Column], width: int, least: int = _LEAST) -> "Table":
    """`columns`, as many as fit into `width` letters, as a table; see `fitted`."""
    from rich.table import Table

    from tmas_graph.cli.plain import words

    shown = fitted(columns, width, least)
    room = max(_LEAST, width - sum(c.width + _GAP for c in shown[:-1]))
    made = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
    for column in shown:
        made.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
    for cells in zip(*(column.cells for column in shown), strict=True):
        texts = [words(cell) for cell in cells]
        texts[-1].truncate(room, overflow="ellipsis")
        made.add_row(*texts)
    return made
