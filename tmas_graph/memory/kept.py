"""Rows of a store that are kept at hand: what stands under an id never changes."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from tmas_graph.memory.rows import Row

_MOST_BYTES = 64 << 20
_BYTES_PER_NUMBER = 4
_BYTES_BESIDE = 1000
"""Of a row, about, with its text."""


class Kept:
    """The rows that were used last, in no more memory than `_MOST_BYTES`; for any thread."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._rows: OrderedDict[str, Row] = OrderedDict()
        self._guard = threading.Lock()
        self.lost: set[str] = set()
        """Ids that were looked for everywhere in vain."""

    def take(self, rows: Iterable[Row]) -> None:
        """Keep `rows`, which have vectors, and drop those that were not used for longest."""
        with self._guard:
            for row in rows:
                self._rows[row.id] = row
                self._rows.move_to_end(row.id)
                self.lost.discard(row.id)
                size = _BYTES_BESIDE + _BYTES_PER_NUMBER * len(row.vector)
                while len(self._rows) > _MOST_BYTES // size:
                    self._rows.popitem(last=False)

    def give(self, ids: Sequence[str]) -> dict[str, Row]:
        """Those of `ids` that are kept."""
        with self._guard:
            found = {id: self._rows[id] for id in ids if id in self._rows}
            for id in found:
                self._rows.move_to_end(id)
        return found

    def drop(self, problem: str) -> None:
        """Keep the rows of the problem with this id no longer: it is done."""
        with self._guard:
            for id in [id for id, row in self._rows.items() if row.data.get("problem") == problem]:
                del self._rows[id]

    def clear(self) -> None:
        """Keep nothing any more."""
        with self._guard:
            self._rows.clear()
            self.lost.clear()
