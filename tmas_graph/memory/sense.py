"""A statement as it is compared by meaning: items with their sorts, roles, heads and premises.

Built on `reading`, with fewer words: what says little is left out, and forms of one notion are one.
The table is read in `notions`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tmas_graph.memory.formulas import arranged, relates
from tmas_graph.memory.guards import NEGATIONS, QUANTIFYING, active, claims
from tmas_graph.memory.notation import read
from tmas_graph.memory.notions import form, named, notions, unrepeated
from tmas_graph.memory.phrasing import IS
from tmas_graph.memory.reading import Part, parts_of

_PREMISES = frozenset({"if", "since"})
_FRAMES = frozenset({"assum", "claim", "prov", "wrong"})
"""What is said of a whole statement."""
_MANY = frozenset({"solution", "thing"})
"""Of what there may be more than one, so that "the one is 2" says more than "2 is one"."""
_BEING = frozenset({"hav", "exist"})
"""What a negation may stand before, and deny what stands behind."""
_ROLES = frozenset({"by", "from", "to", "of", "in", "on", "if"})
_YIELDS = frozenset({"giv"})
_LOGIC = NEGATIONS | QUANTIFYING


@dataclass(frozen=True, slots=True)
class Item:
    """A formula or a word that must be in both."""

    text: str
    sort: str
    """What it must not change places with."""
    role: str
    """The preposition before it, where that tells a source or a means."""
    premise: bool
    head: str
    """What it is said of, or stands before; empty where nothing is."""
    said: bool
    """Whether a form of "to be" says it."""


@dataclass(frozen=True, slots=True)
class Sense:
    """A text as it is compared by meaning."""

    parts: tuple[Part, ...]
    items: tuple[Item, ...]
    claims: int


@lru_cache(maxsize=4096)
def sense(text: str) -> Sense:
    """Read a text; the same one is read once."""
    parts = tuple(_split(named(unrepeated(parts_of(read(text))))))
    parts = next(iter(active(parts)), parts)
    said = claims(parts) + 2 * _ordered(parts)  # what is done first must stay first
    return Sense(parts, tuple(_items(list(_kept(parts)))), said)


def _ordered(parts: Sequence[Part]) -> bool:
    """Whether something is done after something else that is done."""
    sorts, before = notions().sorts, [part.text for part in parts]
    done = [sorts.get(form(part), "") in ("act", "verb", "") for part in parts[1:]]
    return any(text == "after" and doing for text, doing in zip(before, done, strict=False))


def _split(parts: Sequence[Part]) -> Iterable[Part]:
    """Negations apart from their verbs, equations whole, "any" as "all", "gives" as "thus"."""
    denied = any(part.text.startswith("¬") for part in parts)
    place, thus = 0, False
    while place < len(parts):
        part = parts[place]._replace(thus=parts[place].thus or thus)
        after = parts[place + 1] if place + 1 < len(parts) else None
        thus = part.text in _YIELDS and place > 0
        before = parts[place - 1] if place else None
        place += 1
        if thus or (part.text == "prov" and _claimed(before, after)):
            continue
        if form(part) == "substitut" and after and _relation(parts[place : place + 3]):
            parts = [*parts[:place], after._replace(marker="by"), *parts[place + 1 :]]
            continue
        if part.text.startswith("¬ "):
            yield part._replace(text="¬")
            part = Part(part.text.removeprefix("¬ "))
        elif part.text == "any" and not denied:
            part = part._replace(text="∀")
        elif _idle(part, after):
            continue
        elif _equated(parts[place - 1 : place + 2]):
            sides = f"{part.text} = {parts[place + 1].text}".split(" ")
            part = part._replace(text=arranged(sides, fixed=False))
            place += 2
        yield part


def _idle(part: Part, after: Part | None) -> bool:
    """Whether it is a "there is", or the "can" of "can be written"."""
    if part.text == "∃":
        return bool(part.kind) and not (after and after.formula)
    return bool(part.text == "may" and after and notions().sorts.get(after.text) == "verb")


def _equated(parts: Sequence[Part]) -> bool:
    """Whether a name, "=" and a value stand there, not what "of the name" is said to be equal."""
    return (
        len(parts) == 3
        and parts[0].formula and parts[1].kind == "=" and parts[2].formula
        and parts[0].marker != "of"
    )  # fmt: skip


def _items(kept: Sequence[Part]) -> Iterable[Item]:
    """What must be in both, with premise and head."""
    premises = _premises(kept)
    subject = 0
    for place, part in enumerate(kept):
        framed = place and kept[place - 1].text in _FRAMES
        begins = place and premises[place] and not premises[place - 1]
        if part.pause or part.joint or part.marker in _PREMISES or framed or begins:
            subject = place
        said = part.asserted and not part.formula
        head = kept[subject].text if said and subject != place else _head(kept, place)
        role = part.marker if part.marker in _ROLES else ""
        yield Item(part.text, _sort(part), role, premises[place], head, said)


def _head(parts: Sequence[Part], place: int) -> str:
    """What a word stands beside: n for "odd" in "odd n" and in "n odd", f in "continuity of f"."""
    part, sort = parts[place], _sort(parts[place])
    after = parts[place + 1] if place + 1 < len(parts) else None
    if part.formula or (part.text == "may" and after and after.marker in _PREMISES):
        return ""
    if after and (sort == "logic" or not (after.boundary or after.marker or after.asserted)):
        return after.text
    if sort != "quality":
        return ""
    if after and after.marker == "of":
        return after.text
    before = parts[place - 1] if place and not part.boundary else None
    return before.text if before and before.formula else ""


def _kept(parts: Sequence[Part]) -> Iterable[Part]:
    """The parts without light words, in canonical form."""
    light = notions().light
    marker, flags, denied = "", [False] * 4, False
    valued = _one_of_many(parts)
    for part in parts:
        marker = part.marker or marker
        now = (part.boundary, part.joint, part.pause, part.thus)
        flags = [a or b for a, b in zip(flags, now, strict=True)]
        text = form(part)
        if (text == IS and not valued) or (
            text in light and not part.formula and not (denied and text not in _BEING)
        ):
            denied = False
            continue
        denied = text == "¬"
        boundary, joint, pause, thus = flags
        yield part._replace(
            text=text, marker=marker, boundary=boundary, joint=joint, pause=pause, thus=thus
        )
        marker, flags = "", [False] * 4


def _one_of_many(parts: Sequence[Part]) -> bool:
    """Whether it says that "the root of f" is something, of which there may be more."""
    first = notions().alike.get(parts[0].text, parts[0].text) if parts else ""
    return notions().sorts.get(first) in _MANY


def _premises(parts: Sequence[Part]) -> list[bool]:
    """Which parts are premises; none where all are."""
    found: list[bool] = []
    inside = False
    for place, part in enumerate(parts):
        if part.thus:
            found = [True] * len(found)
        if part.pause or part.thus:
            inside = False
        if _conditional(parts[place : place + 3]):
            inside = True
        found.append(inside)
    return found


def _conditional(parts: Sequence[Part]) -> bool:
    """Whether a condition begins: "if n is odd", "with n odd", "from x = 1"; not "when adding"."""
    sorts = [_sort(part) for part in parts]
    if parts[0].marker in _PREMISES:
        return "act" not in sorts[:1] and not (sorts[1:2] == ["act"] and parts[1].asserted)
    if parts[0].marker not in ("by", "from"):
        return False
    ends = len(parts) < 3 or parts[2].boundary
    return sorts[0] == "relation" or (sorts[:2] == ["term", "quality"] and ends)


def _relation(parts: Sequence[Part]) -> bool:
    return _equated(parts) or (parts[0].formula and relates(parts[0].text))


def _claimed(before: Part | None, after: Part | None) -> bool:
    """Whether it is said to prove, or to be proved, what is only called a claim."""
    sorts = notions().sorts
    return any(part and sorts.get(part.text) == "claim" for part in (before, after))


def _sort(part: Part) -> str:
    if part.formula:
        return "relation" if relates(part.text) or part.text.startswith("mod ") else "term"
    if part.text in _LOGIC:
        return "logic"
    return notions().sorts.get(part.text, "")
