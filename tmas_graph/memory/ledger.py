"""The ledger: what speaks for each item of the experience bank, and what against it.

The bank's store holds what an item says, which never changes; the ledger is part of the graph's
state, so that every fork and replay has its own. An entry names iterations, not rollouts: which
rollouts an iteration had, and their scores, stands in the state's history once for all items.

An iteration has one voice about an item, whatever is applied twice: to note it, to support it or
to contradict it. Who notes an item doesn't support it, and a high score among the rollouts
of that iteration doesn't either, for nobody says which rollout an item is from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Literal, get_args

from tmas_graph.memory.items import Item
from tmas_graph.memory.merging import new_items

Status = Literal["open", "supported", "refuted"]
STATUSES: tuple[Status, ...] = get_args(Status)
Row = tuple[str, int, tuple[int, ...], tuple[int, ...], str, str]
"""The fields of an Entry: what a checkpoint holds of it."""
ENOUGH = 2
"""Supports that make an open item a supported one."""
CORRECTED = "corrected"
"""The reason against an item that a better one replaces."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about an item besides what it says."""

    id: str
    iteration: int
    """In which it was noted."""
    supported: tuple[int, ...] = ()
    """Later iterations that support it."""
    contradicted: tuple[int, ...] = ()
    """Later iterations that refute it."""
    corrected_by: str = ""
    """Id of the item that was noted in its place."""
    reason: str = ""
    """Why it was refuted, as it was said last."""

    def __post_init__(self) -> None:
        """Undo what msgpack does: tuples come back from a checkpoint as lists."""
        object.__setattr__(self, "supported", tuple(self.supported))
        object.__setattr__(self, "contradicted", tuple(self.contradicted))

    @property
    def support(self) -> int:
        """How many iterations support it."""
        return len(self.supported)

    @property
    def contradictions(self) -> int:
        """How many iterations refute it."""
        return len(self.contradicted)

    @property
    def status(self) -> Status:
        """`refuted` from the first contradiction on.

        It opens again once those who supported it after the last contradiction outnumber all
        contradictions. `supported` needs two supports more than are used up that way.
        """
        last = max(self.contradicted, default=-1)
        since = sum(t > last for t in self.supported)
        if self.contradicted and since <= self.contradictions:
            return "refuted"
        return "supported" if since - self.contradictions >= ENOUGH else "open"


@dataclass(frozen=True, slots=True)
class Changes:
    """What one reply of the Experience agent says about the items; items by id."""

    added: tuple[Item, ...] = ()
    supported: tuple[str, ...] = ()
    refuted: Mapping[str, str] = field(default_factory=dict)
    """For each refuted item the reason."""
    corrected: Mapping[str, Item] = field(default_factory=dict)
    """For each corrected item what holds in its place."""
    unknown: int = 0
    """How often an item was named that was not shown."""

    @property
    def items(self) -> tuple[Item, ...]:
        """All items that it states, each once."""
        return tuple({item.id: item for item in (*self.added, *self.corrected.values())}.values())


def ledger_of(rows: Iterable[Sequence[Any]]) -> tuple[Entry, ...]:
    """The ledger of which the graph's state holds `rows`."""
    return tuple(Entry(*row) for row in rows)


def rows_of(ledger: Iterable[Entry]) -> tuple[Row, ...]:
    """`ledger` as the graph's state keeps it: plain tuples, a third of the space."""
    return tuple(astuple(entry) for entry in ledger)


def united(
    changes: Changes,
    known: Sequence[Item],
    vectors: Mapping[str, Sequence[float]] | None = None,
) -> Changes:
    """`changes` in which an item that says what a known or earlier one says is that one.

    `vectors` are those of all texts, by text; with none, they are hashed.
    """
    firsts = [*known, *new_items(changes.items, known, vectors=vectors)]
    first_of = {item.id: _first(item, firsts, vectors) for item in changes.items}
    return replace(
        changes,
        added=tuple(first_of[item.id] for item in changes.added),
        corrected={id: first_of[item.id] for id, item in changes.corrected.items()},
    )


def applied(ledger: Iterable[Entry], changes: Changes, iteration: int) -> tuple[Entry, ...]:
    """The ledger after `changes` of `iteration`; to apply them again changes nothing.

    An item that is noted already is supported by being noted again; so is one that is
    "corrected" to what it says. What was noted last stands last.
    """
    entries = {entry.id: entry for entry in ledger}
    for id in (*changes.supported, *(item.id for item in changes.items)):
        if id in entries:
            entries[id] = _supported(entries[id], iteration)
    for item in changes.items:
        entries.setdefault(item.id, Entry(item.id, iteration))
    for id, reason in changes.refuted.items():
        if id in entries:
            entries[id] = _contradicted(entries[id], iteration, reason)
    for id, item in changes.corrected.items():
        if id in entries and item.id != id:
            entry = replace(entries[id], corrected_by=item.id)
            entries[id] = _contradicted(entry, iteration, CORRECTED)
    return tuple(entries.values())


def _supported(entry: Entry, iteration: int) -> Entry:
    if iteration <= entry.iteration:
        return entry
    return replace(entry, supported=_with(entry.supported, iteration))


def _contradicted(entry: Entry, iteration: int, reason: str) -> Entry:
    against = _with(entry.contradicted, iteration)
    return replace(entry, contradicted=against, reason=reason or entry.reason)


def _with(iterations: tuple[int, ...], iteration: int) -> tuple[int, ...]:
    return tuple(sorted({*iterations, iteration}))


def _first(
    item: Item, firsts: Sequence[Item], vectors: Mapping[str, Sequence[float]] | None
) -> Item:
    """The one of `firsts` that says what `item` says."""
    if item in firsts:
        return item
    same = (first for first in firsts if not new_items([item], [first], vectors=vectors))
    return next(same, item)
