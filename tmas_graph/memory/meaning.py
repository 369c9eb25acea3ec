"""Whether two statements that an embedder finds alike agree in what it can't be trusted with.

Looser than the guards, which want every word in its place: here words that say little may differ,
and phrases may move, as long as nothing of one sort changes places with another of its sort:
formulas, numbers, negations, quantifiers, what is said of what, premises and conclusions.
"""

from collections import Counter
from collections.abc import Sequence

from tmas_graph.memory.guards import kinds_clash
from tmas_graph.memory.sense import Item, sense

_TURNED = frozenset({"", "verb", "act", "logic"})
"""What may be said in the passive; of others "is" tells what something is."""


def agree(one: str, other: str) -> bool:
    """Whether two texts may say the same, if an embedder finds them alike."""
    first, second = sense(one), sense(other)
    if Counter(map(_what, first.items)) != Counter(map(_what, second.items)):
        return False
    if kinds_clash(first.parts, second.parts):
        return False
    strict = max(first.claims, second.claims) > 1
    if _orders(first.items, strict) != _orders(second.items, strict):
        return False
    return _heads(first.items, second.items) and not _exchanged(first.items, second.items)


def _what(item: Item) -> tuple[str, bool]:
    return item.text, item.premise


def _orders(items: Sequence[Item], strict: bool) -> dict[tuple[str, bool], list[str]]:
    """The texts of each sort in their order; of all together where `strict`.

    What has no sort may be anything: it keeps its order among things and among quantities.
    """
    found: dict[tuple[str, bool], list[str]] = {}
    for item in items:
        sorts = ("",) if strict else (item.sort,) if item.sort else ("", "thing", "quantity")
        for sort in sorts:
            found.setdefault((sort, item.premise), []).append(item.text)
    return found


def _exchanged(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether one goes from A to B, or bounds A by B, and the other from B to A, or B by A."""
    for role in ("by", "from", "to"):
        first, second = ({i.text for i in items if i.role == role} for items in (one, other))
        if first - second and second - first:
            return True
    return False


def _heads(one: Sequence[Item], other: Sequence[Item]) -> bool:
    """Whether the same is said of the same, as far as both tell."""
    for first, second in ((one, other), (other, one)):
        heads: dict[str, set[str]] = {}
        for item in second:
            heads.setdefault(item.text, set()).add(item.head)
        for item in first:
            if item.said and item.sort not in _TURNED and item.head not in heads[item.text]:
                return False
            told = heads[item.text] - {""}
            checked = item.sort in ("logic", "quality") and item.head
            if checked and told and item.head not in told:
                return False
    return True
