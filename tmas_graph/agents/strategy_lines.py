"""Reads what one line says of a strategy, in the forms that models give it.

`- NAME: main idea (attempts 1, 3): how it ended` for a new strategy, `- G3 (attempts 2, 5): how it
ended` for one that is listed. Brackets that name attempts or listed strategies are notes, wherever
they stand; all other brackets are part of the text. Pure, total, and in linear time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_LONGEST = 4000
"""Characters of a line; longer ones say nothing that is worth the time."""

_EDGE = r"[*_`]*+"
_AND = r"\s*+(?:,\s*+(?:and\b|&)?|;|and\b|&|\+|/)?\s*+"
_NUMBER = r"#?\s?\d{1,4}+(?![\d%]|[.,]\d)"
_RANGE = rf"{_NUMBER}(?:\s*+(?:[-–—]|to\b)\s*+(?:attempt\s)?{_NUMBER})?+"
_ATTEMPTS = rf"\battempts?\b\s*+:?\s*+(?P<numbers>{_RANGE}(?:{_AND}(?:attempts?\s)?{_RANGE})*+)"
_ID = r"[*_`\[(]*+\bG\s?\d{1,4}\b(?!\.\d)[*_`\])]*+"
_IDS = rf"(?P<ids>{_ID}(?:{_AND}{_ID})*+)"
_SAME = r"\bsame\s++(?:(?:strategy|approach|idea)\s++)?as\s++"
_UNUSED = r"(?:none|unused|untried|n/a|no attempts?|not (?:\w+ )?(?:used|tried|attempted))\b"

_BEGIN = re.compile(
    rf"\s*+(?:(?:[-*•+]\s|\d+[.)])\s*+|(?=\*\*)|(?={_EDGE}[\[(]?{_ID}))", re.IGNORECASE
)
_USED = re.compile(_ATTEMPTS, re.IGNORECASE)
_ALL = r"(?:\ball\s++(?:the\s++)?attempts\b|\battempts\s*+:\s*+all\b)"
_USED_BY_ALL = re.compile(_ALL, re.IGNORECASE)
_SPAN = re.compile(r"(\d+)(?:\s*+(?:[-–—]|to)\s*+(?:attempt\s)?#?\s?(\d+))?+", re.IGNORECASE)
_BRACKET = re.compile(r"[(\[](?P<note>[^()\[\]]{1,200})[)\]]")
_NOTE = re.compile(
    rf"\s*+{_EDGE}(?:(?:used\s++)?(?:(?:in|by|from)\s++)?(?:{_ATTEMPTS}|{_ALL})"
    rf"|(?:the\s++)?{_SAME}{_ID}|=?\s*+{_ID}\s*+(?:$|[,;])"
    rf"|(?:attempts?\s*+:?\s*+)?{_UNUSED}\s*+$)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\bG\s?(\d{1,4})\b", re.IGNORECASE)
_LEAD = re.compile(
    rf"{_EDGE}[\[(]?+{_ATTEMPTS}[\])]?+{_EDGE}(?:\s*+\((?:mean\s++)?score[^()]{{1,60}}\))?+"
    rf"\s*+(?:[:–—]|-(?=\s)|\b(?:uses?|used|try|tries|tried)\b:?){_EDGE}\s*+(?P<rest>\S.*)",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"{_EDGE}(?:(?:the\s++)?{_SAME})?+{_IDS}(?P<rest>.*)", re.IGNORECASE)
_LISTED_LAST = re.compile(rf"[-:;,.–—]\s*+(?:the\s++)?{_SAME}{_IDS}[.\s]*+\Z", re.IGNORECASE)
_GOES_ON = re.compile(r"$|[-:.,;(\[–—]|attempts?\b", re.IGNORECASE)
_NOT_USED = re.compile(rf"(?:(?:is|was|were)\s++)?{_UNUSED}", re.IGNORECASE)
_LABEL = re.compile(rf"{_EDGE}NAME\s*+:{_EDGE}\s*+(?=.*:)")
_SEPARATOR = re.compile(rf"(?:\s?[:–—]|\s-){_EDGE}\s++")
_OPENING = re.compile(rf"\s*+{_EDGE}(?:[:.,;–—]|-(?=\s))*+{_EDGE}\s*+")
_ABOUT_ATTEMPTS = re.compile(rf"{_EDGE}attempts?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Line:
    """What a line says; nothing where it says nothing that can be read."""

    name: str = ""
    essence: str = ""
    outcome: str = ""
    attempts: frozenset[int] = frozenset()
    listed: tuple[int, ...] = ()
    """Numbers of the listed strategies that it means; such a line needs no name."""
    unused: bool = False
    """Whether it says that no attempt used the strategy."""
    unknown: int = 0
    """How many attempts and listed strategies it names that were not shown."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A line, apart from the notes that it holds."""

    head: str
    """What stands before the first note, or all."""
    tail: str = ""
    """What stands after it."""
    note: str = ""
    """All that names attempts and listed strategies."""
    bracketed: bool = False
    """Whether a note stands in brackets."""


def read(text: str, known: Sequence[str] = (), attempts: int = 0) -> Line:
    """What a line of a reply says, if strategies of the `known` names and `attempts` were shown."""
    begin = _BEGIN.match(text)
    if len(text) > _LONGEST or not begin:
        return Line()
    parts = _apart(text[begin.end() :].strip())
    if found := _LISTED.fullmatch(parts.head):
        parts = _of_listed(parts, found, known)
        line = Line(outcome=parts.tail)
    else:
        parts = _without_last(parts)
        line = _new(parts)
    numbers, ids = _used(parts.note, attempts), _ids(parts.note)
    denied = _NOT_USED.search(parts.note) or (ids and _NOT_USED.match(line.outcome.lstrip("( ")))
    return replace(
        line,
        attempts=frozenset(n for n in numbers if 0 < n <= attempts),
        listed=tuple(n for n in ids if 0 < n <= len(known)),
        unknown=sum(n > attempts or not n for n in numbers) + sum(n > len(known) for n in ids),
        unused=bool(denied and not numbers),
    )


def _apart(said: str) -> _Parts:
    """The line with its notes apart; "Attempt 2: …" at its begin is one too."""
    lead = _LEAD.fullmatch(said)
    notes = [said[: lead.start("rest")]] if lead else []
    said = lead["rest"] if lead else said
    # An id in brackets that begins the line is no note but what the line is about.
    found = [b for b in _BRACKET.finditer(said) if _NOTE.match(b["note"])]
    found = [b for b in found if b.start() or not _LISTED.match(said)]
    if not found:
        return _Parts(said, note=" ".join(notes))
    ends = [b.end() for b in found]
    begins = [*(b.start() for b in found[1:]), len(said)]
    after = [said[end:begin].strip() for end, begin in zip(ends, begins, strict=True)]
    notes += [b["note"] for b in found]
    head = said[: found[0].start()].rstrip()
    if about := _USED.fullmatch(head.strip("*_`: ")):
        notes.append(about[0])
        head = found[0]["note"] if _LISTED.fullmatch(found[0]["note"]) else ""
    return _Parts(head, " ".join(filter(None, after)), " ; ".join(notes), bracketed=True)


def _of_listed(parts: _Parts, found: re.Match[str], known: Sequence[str]) -> _Parts:
    """The parts of a line that begins with listed strategies; nothing if it isn't about their use.

    "G3 (attempt 2): how it ended" is; "G3 doesn't help here" may mean anything.
    """
    rest = found["rest"].strip()
    for number in _ids(found["ids"]):
        name = known[number - 1] if 0 < number <= len(known) else ""
        if name and (begin := _begin_of(rest, name)):
            rest = rest[begin:]
    if not _GOES_ON.match(rest):
        return _Parts("")
    rest, note = _opened(rest), f"{found['ids']} ; {parts.note}"
    if used := _USED.match(rest):
        rest, note = _opened(rest[used.end() :]), f"{note} ; {used[0]}"
    return _Parts("", _opened(parts.tail) or rest, note)


def _begin_of(rest: str, name: str) -> int:
    """How much of `rest` repeats `name`; 0 if it doesn't begin with it."""
    opening = _OPENING.match(rest)
    begin = opening.end() if opening else 0
    repeats = rest[begin : begin + len(name)].lower() == name.lower()
    return begin + len(name) if repeats else 0


def _without_last(parts: _Parts) -> _Parts:
    """The parts without a "same as G3" at the end of one, which is a note as well."""
    if found := _LISTED_LAST.search(parts.tail):
        note = f"{parts.note} ; {found['ids']}"
        return replace(parts, tail=parts.tail[: found.start()], note=note, bracketed=True)
    if found := _LISTED_LAST.search(parts.head):
        note = f"{parts.note} ; {found['ids']}"
        return replace(parts, head=parts.head[: found.start()], note=note, bracketed=True)
    return parts


def _new(parts: _Parts) -> Line:
    """What the parts of a line say of a strategy with a name."""
    head, tail = _unwrapped(parts.head), _opened(parts.tail)
    if not head:
        head, tail = tail, ""
    head = head[label.end() :] if (label := _LABEL.match(head)) else head
    cuts = list(_SEPARATOR.finditer(head))
    # A colon within a formula separates nothing, unless no other is there.
    cut = next((c for c in cuts if _is_closed(head[: c.start()])), cuts[0] if cuts else None)
    name = _bare(head[: cut.start()] if cut else head)
    essence = head[cut.end() :].strip() if cut else ""
    if not (essence or parts.bracketed) or _ABOUT_ATTEMPTS.match(name):
        return Line()
    return Line(name, essence, tail) if essence else Line(name, tail)


def _used(note: str, attempts: int) -> frozenset[int]:
    """The numbers of the attempts that a note names; of a range those that were shown."""
    found: set[int] = set()
    if _USED_BY_ALL.search(note):
        found |= set(range(1, attempts + 1))
    for used in _USED.finditer(note):
        for first, last in _SPAN.findall(used["numbers"]):
            low, high = sorted((int(first), int(last or first)))
            found |= {low, high, *range(low, min(high, attempts) + 1)}
    return frozenset(found)


def _ids(note: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in _NUMBERED.findall(note)))


def _opened(text: str) -> str:
    """`text` without the punctuation that joins it to what stood before it."""
    opening = _OPENING.match(text)
    left = text[opening.end() :].strip() if opening else text.strip()
    return left if any(c.isalnum() for c in left) else ""


def _unwrapped(text: str) -> str:
    """`text` without the asterisks around all of it."""
    wrapped = text.startswith("**") and text.endswith("**") and text.count("**") == 2
    return text[2:-2].strip() if wrapped else text


def _bare(name: str) -> str:
    name = name.strip("*_` ")
    boxed = name.startswith("[") and name.endswith("]") and name.count("[") == 1
    return name[1:-1].strip("*_` ") if boxed else name


def _is_closed(text: str) -> bool:
    return text.count("$") % 2 == 0 and text.count(r"\(") <= text.count(r"\)")
