"""Whether two statements that an embedder finds alike agree in what it can't be trusted with.

Looser than the guards, which want every word in its place: here words that say little may differ,
and phrases may move, as long as nothing of one sort changes places with another of its sort:
formulas, numbers, negations, quantifiers, what is said of what, premises and conclusions.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from tmas_graph.memory.guards import kinds_clash
from tmas_graph.memory.sense import Item, sense

_WHOLES = ("of", "in")
_TURNED = frozenset({"", "verb", "act", "logic", "outcome", "adverb"})
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
        texts, others = _with(one, role), _with(other, role)
        if texts - others and others - texts:
            return True
    for first, second in ((one, other), (other, one)):
        if _with(first, "in") & _with(second, "on") or _with(first, "by") & _attributes(second):
            return True
    whole, other_whole = _wholes(one), _wholes(other)
    if any((b, a) in other_whole and a != b for a, b in whole):
        return True
    done, other_done = _done(one), _done(other)
    return done != other_done and sorted(done) == sorted(other_done)


def _with(items: Sequence[Item], role: str) -> set[str]:
    return {item.text for item in items if item.role == role}


def _attributes(items: Sequence[Item]) -> set[str]:
    """Qualities of a noun that they stand before: a continuous root isn't there by continuity."""
    return {
        i.text for i in items if i.sort == "quality" and i.head and not i.said and i.role != "by"
    }


def _done(items: Sequence[Item]) -> list[str]:
    """What is done, in order, save what is said in the passive or of a condition."""
    return [i.text for i in items if i.sort in ("act", "verb") and not i.said and i.role != "if"]


def _wholes(items: Sequence[Item]) -> set[tuple[str, str]]:
    """What is of what, or in what: the sum of the sides isn't the sides of the sum."""
    return {(part.text, whole.text) for part, whole in pairwise(items) if whole.role in _WHOLES}


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
            checked = item.sort in ("logic", "quality", "side") and item.head
            if checked and told and item.head not in told:
                return False
    return True
