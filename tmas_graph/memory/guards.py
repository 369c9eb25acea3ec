"""What two statements must agree in before they may count as one, however alike they look."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tmas_graph.memory.english import english
from tmas_graph.memory.notation import read
from tmas_graph.memory.phrasing import IS
from tmas_graph.memory.reading import Part, parts_of

Reason = Literal[
    "numbers", "negation", "quantifiers", "formulas", "words", "conditions", "order",
    "likeness", "overlap",
]  # fmt: skip
NEGATIONS = frozenset({
    "¬", "¬∃", "∄", "¬possible", "∉", "!=", "NDIV", "wrong", "fail", "unneeded",
})  # fmt: skip
QUANTIFYING = frozenset({
    "∀", "∃", "∄", "¬∃", "¬", "exactly", "infinitely", "finitely", "almost", "only", "any",
    "may",
})  # fmt: skip
_BINDING = frozenset({"if", "for", "since", "by", "from", "at", "∀", "∃"})
"""What stands after these is no part of the claim itself."""
_WEAKENING = QUANTIFYING | NEGATIONS | {"or", "either", "unless", "assum", "except", "but"}
_LONGEST = 16
"""Parts of a statement whose adjuncts may move; longer ones would take too long."""
_PLACES = frozenset({"in", "on"})


@dataclass(frozen=True, slots=True)
class Statement:
    """A text as the guards see it."""

    text: str
    normal: str
    """Equal for texts that differ in spacing, notation and articles only."""
    parts: tuple[Part, ...]
    """In order, without words that may differ and verbs that have no place of their own."""
    free: tuple[str, ...]
    """Verbs that may stand before or after their object, in their order."""
    numbers: tuple[str, ...]
    negations: tuple[str, ...]
    """Those of verbs too."""
    quantifiers: tuple[str, ...]
    """In their order."""
    formulas: tuple[str, ...]
    concepts: tuple[str, ...]
    """The words of `parts`, sorted, as numbers, negations and formulas are."""
    conjuncts: tuple[tuple[str, ...], ...]
    """What it asserts one by one; empty where a condition, negation or quantifier is involved."""
    words: frozenset[str]
    """All words and formulas that carry meaning."""


@lru_cache(maxsize=4096)
def statement(text: str) -> Statement:
    """Read a text; the same one is read once."""
    tokens = read(text)
    table = english()
    parts = _bound(parts_of(tokens))
    hard = [p for p in _carried(parts) if not _loose(p)]
    articles = ("a", "an", "the")
    return Statement(
        text=text,
        normal=" ".join(t.text for t in tokens if t.math or t.text not in articles),
        parts=tuple(hard),
        free=tuple(p.text for p in parts if p.text.removeprefix("¬ ") in table.free),
        numbers=_sorted(s for p in hard for s in p.text.split(" ") if s[:1].isdigit()),
        negations=_sorted(s for p in parts for s in p.text.split(" ") if s in NEGATIONS),
        quantifiers=tuple(p.text for p in hard if p.text in QUANTIFYING),
        formulas=_sorted(p.text for p in hard if p.formula),
        concepts=_sorted(p.text for p in hard if not p.formula),
        conjuncts=_conjuncts(parts),
        words=frozenset(p.text for p in parts),
    )


def disagreement(one: Statement, other: Statement) -> Reason | None:
    """In what the two differ for certain; None where they may say the same."""
    if one.numbers != other.numbers:
        return "numbers"
    if one.negations != other.negations:
        return "negation"
    if one.quantifiers != other.quantifiers:
        return "quantifiers"
    if one.formulas != other.formulas:
        return "formulas"
    if one.concepts != other.concepts or one.free != other.free:
        return "words"
    if kinds_clash(one.parts, other.parts):
        return "words"
    return _order(one, other)


def fuller(one: Statement, other: Statement) -> int:
    """1 where `one` asserts all of `other` and more, -1 the other way round, else 0."""
    first, second = set(one.conjuncts), set(other.conjuncts)
    if not first or not second:
        return 0
    return (second < first) - (first < second)


def _loose(part: Part) -> bool:
    """Whether a part has no place of its own."""
    return not part.formula and part.text.removeprefix("¬ ") in english().loose


def _bound(parts: Sequence[Part]) -> list[Part]:
    """A negation as one with the verb that it precedes; "can be counted" as "counted"."""
    free = english().free
    found: list[Part] = []
    for part in parts:
        if part.marker in ("at", "to"):
            part = part._replace(marker="of")
        part = part._replace(kind="") if part.text in ("∃", IS) else part
        if part.text in free and found and found[-1].text == "may":
            part = found.pop()._replace(text=part.text)
        elif part.text in free and found and found[-1].text == "¬":
            part = found.pop()._replace(text=f"¬ {part.text}")
        if part.text == "exist" and any(other.text in ("¬", "exactly") for other in found):
            continue  # "no solution exists" denies it already
        found.append(part)
    return found


def _carried(parts: Sequence[Part]) -> list[Part]:
    """The parts, each with the marker and boundary of a word before it that is left out."""
    found: list[Part] = []
    marker, boundary = "", False
    for part in parts:
        marker, boundary = part.marker or marker, part.boundary or boundary
        if (marker, boundary) == (part.marker, part.boundary):
            found.append(part)
        else:
            found.append(part._replace(marker=marker, boundary=boundary))
        if not _loose(part):
            marker, boundary = "", False
    return found


def _sorted(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(texts))


def kinds_clash(a: Sequence[Part], b: Sequence[Part]) -> bool:
    """Whether a formula is called a circle here and a triangle there.

    Where it is bound, as in "for all polynomials P", its kind is a condition.
    """
    kinds = {p.text: p.kind for p in a if p.kind}
    if any(p.kind and kinds.get(p.text, p.kind) != p.kind for p in b):
        return True
    first, second = ({p.kind for p in c if p.marker in _BINDING and p.kind} for c in (a, b))
    return first != second


def _order(one: Statement, other: Statement) -> Reason | None:
    if one.conjuncts and sorted(one.conjuncts) == sorted(other.conjuncts):
        return None
    a, b = one.parts, other.parts
    for first in (a, *active(a)):
        for second in (b, *active(b)):
            if _texts(first) == _texts(second):
                return "conditions" if _markers_clash(first, second) else None
    if len(a) > _LONGEST or claims(a) > 1 or claims(b) > 1:
        return "order"
    wanted = _told(b)
    for moved in _moved(a, b):
        if _told(moved) == wanted or any(_told(again) == wanted for again in _moved(moved, b)):
            return None
    return "order"


def claims(parts: Sequence[Part]) -> int:
    """How much it asserts outside of conditions; one's condition must not move to another."""
    count, bound = 0, False
    for part in parts:
        if part.joint:
            count += 1
        if part.marker or part.boundary:
            bound = part.marker in _BINDING
        count += part.asserted and not bound
    return count


def _texts(parts: Sequence[Part]) -> list[str]:
    return [part.text for part in parts]


def _told(parts: Sequence[Part]) -> list[tuple[str, str]]:
    return [(part.text, "" if part.marker == "of" else part.marker) for part in parts]


def _markers_clash(a: Sequence[Part], b: Sequence[Part]) -> bool:
    """Whether one puts under a condition what the other claims, or puts things elsewhere."""
    for first, second in zip(a, b, strict=True):
        markers = {first.marker, second.marker}
        if len(markers) > 1 and markers != {"of", "for"}:
            bound = bool(markers & _BINDING)
            if bound or markers >= _PLACES:
                return True
    return False


def _moved(a: Sequence[Part], b: Sequence[Part]) -> Iterable[list[Part]]:
    """`a` with one adjunct moved: "by symmetry, a = b" as "a = b by symmetry"."""
    for begin in range(len(a)):
        if a[begin].marker in ("", "of", "from"):
            continue
        for end in range(begin + 1, len(a) + 1):
            if end < len(a) and not a[end].boundary:
                continue
            block, rest = list(a[begin:end]), [*a[:begin], *a[end:]]
            for place in range(len(rest) + 1):
                after = place + len(block)
                if after < len(b) and not b[after].boundary:
                    continue
                yield [*rest[:place], *block, *rest[place:]]


def active(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    """The statement with its passive turned: "the game is won by A" as "A win the game"."""
    agents = english().agents
    for place in range(1, len(parts) - 1):
        if (
            parts[place].text in agents
            and parts[place].asserted
            and parts[place + 1].marker == "by"
        ):
            agent = [parts[place + 1]._replace(marker=""), *parts[place + 2 :]]
            return [(*agent, parts[place], *parts[:place])]
    return []


def _conjuncts(parts: Sequence[Part]) -> tuple[tuple[str, ...], ...]:
    if any(p.thus for p in parts[1:]) or any(p.marker or p.text in _WEAKENING for p in parts):
        return ()
    groups: list[list[Part]] = []
    for part in parts:
        if part.joint or not groups:
            groups.append([])
        groups[-1].append(part)
    return tuple(tuple(_texts(g)) for g in groups) if all(map(_asserts, groups)) else ()


def _asserts(group: Sequence[Part]) -> bool:
    """Whether the group is a relation, or says of a formula what it is."""
    if len(group) == 1:
        return group[0].formula and group[0].asserted
    said = group[0].formula and not group[0].asserted and group[1].asserted
    return said and not any(part.formula for part in group[1:])
