"""The ledger: what speaks for each item of the experience bank, and what against it.

The bank's store holds what an item says, which never changes; the ledger is part of the graph's
state, so that every fork and replay has its own. An entry names iterations, not rollouts: which
rollouts an iteration had, and their scores, stands in the state's history once for all items.

An iteration has one voice about an item, whatever is applied twice: to note it, to support it or
to contradict it. Who notes an item doesn't support it, and a high score among the rollouts
of that iteration doesn't either, for nobody says which rollout an item is from.

An item that says all of a noted one and more absorbs it: the row of the first stays, and with it
its name, but it isn't shown while the second stands. What was refuted isn't noted again in any
words: only a support of it by name can take that back.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

from tmas_graph.memory.dedup import DEFAULT, Thresholds
from tmas_graph.memory.items import Item
from tmas_graph.memory.merging import merged

Status = Literal["open", "supported", "refuted"]
STATUSES: tuple[Status, ...] = get_args(Status)
Row = tuple[str, int, tuple[int, ...], tuple[int, ...], str, str, str]
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
    """Iterations that support it; those before it was noted spoke for what it absorbed."""
    contradicted: tuple[int, ...] = ()
    """Iterations that refute it."""
    corrected_by: str = ""
    """Id of the item that was noted in its place."""
    reason: str = ""
    """Why it was refuted, as it was said last."""
    absorbed_by: str = ""
    """Id of the item that says all of it, and more."""

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
    def balance(self) -> int:
        """Supports after the last contradiction, less all contradictions."""
        last = max(self.contradicted, default=-1)
        return sum(t > last for t in self.supported) - self.contradictions

    @property
    def status(self) -> Status:
        """`refuted` from the first contradiction on.

        It opens again once those who supported it after the last contradiction outnumber all
        contradictions. `supported` needs two supports more than are used up that way.
        """
        if self.contradicted and self.balance <= 0:
            return "refuted"
        return "supported" if self.balance >= ENOUGH else "open"


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
    absorbed: Mapping[str, str] = field(default_factory=dict)
    """For each noted item of which a new one says all and more the id of that one."""

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


def hidden(ledger: Iterable[Entry]) -> frozenset[str]:
    """Ids of those entries that another one absorbed; none whose other one was refuted since."""
    entries = {entry.id: entry for entry in ledger}
    return frozenset(
        entry.id
        for entry in entries.values()
        if entry.absorbed_by in entries and entries[entry.absorbed_by].status != "refuted"
    )


def united(
    changes: Changes,
    known: Sequence[Item],
    wrong: Collection[str] = (),
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    thresholds: Thresholds = DEFAULT,
) -> Changes:
    """`changes` in which an item that says what a known or earlier one says is that one.

    A correction that says all of an item and more isn't one: it absorbs the item.

    Args:
        changes: what a reply says.
        known: the items that are noted and not hidden.
        wrong: ids of those that are refuted.
        vectors: unit vectors of all texts, by text; none: hashed ones.
        thresholds: how alike two near-duplicates must be, which depends on the embedder.
    """
    merge = partial(merged, vectors=vectors, thresholds=thresholds)
    wrong = {*wrong, *changes.refuted}
    better = merge(changes.corrected.values(), known, wrong)
    fuller = {id for id, i in changes.corrected.items() if better.fuller.get(id) == i}
    wrong |= changes.corrected.keys() - fuller
    one = merge(changes.items, known, wrong)
    corrected = {id: one.stands_for[item.id] for id, item in changes.corrected.items()}
    more = [corrected.pop(id) for id in fuller & one.fuller.keys()]
    return replace(
        changes,
        added=tuple(one.stands_for[item.id] for item in (*changes.added, *more)),
        corrected=corrected,
        absorbed={id: item.id for id, item in one.fuller.items()},
    )


def applied(ledger: Iterable[Entry], changes: Changes, iteration: int) -> tuple[Entry, ...]:
    """The ledger after `changes` of `iteration`; to apply them again changes nothing.

    An item that is noted already is supported by being noted again, unless it was refuted; so is
    one that is "corrected" to what it says. What was noted last stands last.
    """
    entries = {entry.id: entry for entry in ledger}
    again = [i.id for i in changes.items if i.id in entries and entries[i.id].status != "refuted"]
    for id in (*changes.supported, *again):
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
    for id, fuller in changes.absorbed.items():
        if {id, fuller} <= entries.keys() and entries[id].status != "refuted":
            entries[fuller] = _grown(entries[fuller], entries[id])
            entries[id] = replace(entries[id], absorbed_by=fuller)
    return tuple(entries.values())


def _supported(entry: Entry, iteration: int) -> Entry:
    if iteration <= entry.iteration:
        return entry
    return replace(entry, supported=_with(entry.supported, iteration))


def _contradicted(entry: Entry, iteration: int, reason: str) -> Entry:
    against = _with(entry.contradicted, iteration)
    return replace(entry, contradicted=against, reason=reason or entry.reason)


def _grown(entry: Entry, absorbed: Entry) -> Entry:
    """`entry` with what was said of one that it absorbs; that one was noted, and said again."""
    spoke = {absorbed.iteration, *absorbed.supported} - {entry.iteration}
    return replace(
        entry,
        supported=tuple(sorted({*entry.supported, *spoke})),
        contradicted=tuple(sorted({*entry.contradicted, *absorbed.contradicted})),
    )


def _with(iterations: tuple[int, ...], iteration: int) -> tuple[int, ...]:
    return tuple(sorted({*iterations, iteration}))
