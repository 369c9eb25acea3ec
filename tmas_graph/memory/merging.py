"""Which items a bank has to take in, and which say only what it holds already."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tmas_graph.memory.dedup import DEFAULT, Known, Same, Thresholds, decide, says_more
from tmas_graph.memory.embeddings import embed
from tmas_graph.memory.items import Item
from tmas_graph.memory.similarity import same_statement

_ANY_VECTOR = (1.0,)
"""Like itself, so that the guards alone decide: only the few pairs that pass are embedded."""
_Read = tuple[Item, Known]


@dataclass(frozen=True, slots=True)
class Merged:
    """What becomes of items beside those that are known."""

    fresh: tuple[Item, ...]
    """Those that say something new."""
    stands_for: Mapping[str, Item]
    """For the id of each item the known or fresh one that says it; a fresh one is its own."""
    fuller: Mapping[str, Item]
    """For the id of a known item the fresh one that says all of it and more."""


def merged(
    items: Iterable[Item],
    known: Iterable[Item],
    wrong: Collection[str] = (),
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    thresholds: Thresholds = DEFAULT,
) -> Merged:
    """Find for each of `items` the one that says it already, or that it is new.

    One that says all of another and more takes its place among `items`, and is the `fuller` one
    of what is known. What is known to be wrong has no fuller one: who says it and more says what
    is wrong again.

    Args:
        items: in the order in which they shall be kept.
        known: what is in the bank.
        wrong: ids of those of `known` that are refuted.
        vectors: unit vectors of all texts, by text; none: hashed ones.
        thresholds: how alike two near-duplicates must be, which depends on the embedder.
    """
    read = _reader(vectors, thresholds)
    old = [(item, read.known(item)) for item in known]
    of_id = {item.id: item for item, _ in old}
    fresh: list[_Read] = []
    place: dict[str, Item] = {}
    for item in items:
        new = read.known(item)
        said = of_id.get(item.id) or read.first_that_says(item, new, [*old, *fresh])
        said = said or _first_within(item, new, [o for o in old if o[0].id in wrong])
        place[item.id] = said or item
        if said is None:
            less = {o.id for o, what in fresh if _comparable(item, o) and says_more(new, what)}
            fresh = [*((o, what) for o, what in fresh if o.id not in less), (item, new)]
            place = {id: item if one.id in less else one for id, one in place.items()}
    right = [one for one in old if one[0].id not in wrong]
    fuller = {o.id: item for item, new in reversed(fresh) for o in _all_within(item, new, right)}
    return Merged(tuple(item for item, _ in fresh), place, fuller)


def new_items(
    items: Iterable[Item],
    known: Iterable[Item],
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    thresholds: Thresholds = DEFAULT,
) -> list[Item]:
    """Those of `items` that neither `known` nor another one says already; see `merged`."""
    return list(merged(items, known, vectors=vectors, thresholds=thresholds).fresh)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Compares items; reads and embeds no text before it must."""

    vector_of: Callable[[str], Sequence[float]]
    thresholds: Thresholds

    def known(self, item: Item) -> Known:
        return Known.of(item.text, _ANY_VECTOR)

    def first_that_says(self, item: Item, new: Known, others: Sequence[_Read]) -> Item | None:
        """The first of `others` that says all that the item does."""
        for other, what in others:
            if not _comparable(item, other):
                continue
            decision = decide(new, what, self.thresholds)
            if isinstance(decision, Same) and decision.stage in ("near", "meaning"):
                decision = decide(self._embedded(new), self._embedded(what), self.thresholds)
            if isinstance(decision, Same) and not says_more(new, what):
                return other
        return None

    def _embedded(self, known: Known) -> Known:
        return Known.of(known.text, self.vector_of(known.text))


def _reader(vectors: Mapping[str, Sequence[float]] | None, thresholds: Thresholds) -> _Reader:
    if vectors is not None:
        return _Reader(vectors.__getitem__, thresholds)
    hashed: dict[str, Sequence[float]] = {}

    def vector_of(text: str) -> Sequence[float]:
        if text not in hashed:
            [hashed[text]] = embed([text])
        return hashed[text]

    return _Reader(vector_of, thresholds)


def _first_within(item: Item, new: Known, others: Sequence[_Read]) -> Item | None:
    return next(iter(_all_within(item, new, others)), None)


def _all_within(item: Item, new: Known, others: Sequence[_Read]) -> list[Item]:
    """Those of `others` of which the item says all, and more."""
    return [o for o, what in others if _comparable(item, o) and says_more(new, what)]


def _comparable(one: Item, other: Item) -> bool:
    """Whether two items may say the same: of one kind, and under the same conditions."""
    if one.kind != other.kind:
        return False
    return one.conditions == other.conditions or same_statement(one.conditions, other.conditions)
