"""What the experience bank holds: one low-level result, technique or pitfall."""

import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Literal, get_args

from tmas_graph.state import digest

ItemKind = Literal["conclusion", "technique", "pitfall"]
ItemRow = tuple[str, str, str]
"""The fields of an Item: what a checkpoint holds of it."""
KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
_CONTROLS = re.compile(r"\r\n|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
"""All but the tab: ends of lines for some readers, and what steers a terminal."""


@dataclass(frozen=True, slots=True)
class Item:
    """One low-level piece of experience."""

    kind: ItemKind
    text: str
    conditions: str = ""
    """When it holds, if not always."""

    @property
    def id(self) -> str:
        """Hash of the content: the same item is stored once, however often it is written."""
        conditions = (self.conditions,) if self.conditions else ()
        return digest(self.kind, self.text, *conditions)[:16]


def in_one_line(text: str) -> str:
    """`text` as a prompt may hold it: of what controls a reader, only spaces are left."""
    return _CONTROLS.sub(" ", text)


def item_rows(items: Iterable[Item]) -> tuple[ItemRow, ...]:
    """`items` as the graph's state keeps them."""
    return tuple(astuple(item) for item in items)
