"""Published items as lines of JSON, and back: every field, texts byte for byte.

Nothing in a line is obeyed: it is text for the library, checked to be of the form that agents
write, one line and not too long.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from tmas_graph.errors import ItemError
from tmas_graph.memory.embeddings import Embedder, thresholds_of
from tmas_graph.memory.items import KINDS, Item
from tmas_graph.memory.ledger import STATUSES
from tmas_graph.memory.library import LONGEST_QUESTION, Published, data_of
from tmas_graph.memory.merging import new_items
from tmas_graph.settings import near

_LONGEST = {
    "text": 2000,
    "conditions": 2000,
    "reason": 2000,
    "problem": 1000,
    "run": 1000,
    "question": LONGEST_QUESTION,
    "thread": 1000,
    "time": 40,
}
"""Characters."""
_ONE_LINE = ("text", "conditions", "reason", "question")
_COUNTS = ("iteration", "support", "contradictions")
_MOST = 10**9
_CHOICES: Mapping[str, Sequence[str]] = {"kind": KINDS, "status": STATUSES}
FIELDS = ("id", "kind", *_LONGEST, *_COUNTS, "status")
_NEEDED = ("kind", "text")


def plain(one: Published) -> dict[str, Any]:
    """Every field of `one`, as plain values."""
    return {"id": one.id, "kind": one.item.kind, "text": one.item.text, **data_of(one)}


def line_of(one: Published) -> str:
    """`one` as a line of JSON; in ASCII, so that no terminal or locale changes it."""
    return json.dumps(plain(one)) + "\n"


def read_lines(text: str, name: str) -> list[Published]:
    """The items in `text`, one a line, of the file `name`; an id that is given is made anew.

    Raises:
        ItemError: a line is no item; it names file and line.
    """
    # At \n alone: other characters that end lines may stand in an item.
    lines = enumerate(text.split("\n"), 1)
    return [_read(line, f"{name}:{number}") for number, line in lines if line.strip()]


@dataclass(frozen=True, slots=True)
class Sorted:
    """What is to become of items that are imported."""

    new: list[Published]
    known: int
    """Were there already, and stay as they are."""
    merged: int
    """Say what another item of the same problem says."""


async def sort(
    given: Iterable[Published], held: Sequence[Published], embedder: Embedder, *, dedup: bool
) -> Sorted:
    """Which of `given` have to be written beside those that are `held`."""
    here, given = {one.id for one in held}, list(given)
    fresh = {one.id: one for one in given if one.id not in here}
    known = sum(one.id in here for one in given)
    if not dedup:
        return Sorted(list(fresh.values()), known, len(given) - known - len(fresh))
    new: list[Published] = []
    by_problem = sorted(fresh.values(), key=lambda one: one.problem)
    for problem, group in groupby(by_problem, key=lambda one: one.problem):
        rivals = [one.item for one in held if one.problem == problem]
        new += await _distinct(list(group), rivals, embedder)
    return Sorted(new, known, len(given) - known - len(new))


async def _distinct(
    fresh: list[Published], rivals: list[Item], embedder: Embedder
) -> list[Published]:
    items = [one.item for one in fresh]
    texts = list(dict.fromkeys(item.text for item in (*items, *rivals)))
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    first = {one.item.id: one for one in reversed(fresh)}
    alike = thresholds_of(embedder)
    new = new_items(items, rivals, vectors=vectors, thresholds=alike)
    return [first[item.id] for item in new]


def _read(line: str, where: str) -> Published:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ItemError(f"{where}: is no JSON ({_short(error)}). Mend the line.") from None
    if not isinstance(row, dict):
        raise ItemError(f"{where}: is no JSON object, but {row!r:.40}. Mend the line.")
    for name in row:
        if name not in FIELDS:
            known = f"The fields are {', '.join(FIELDS)}."
            raise ItemError(f"{where}: unknown field {name!r:.60}{near(name, FIELDS)}. {known}")
    for name in _NEEDED:
        if name not in row:
            raise ItemError(f'{where}: no "{name}" (keys: {", ".join(row)}). Add it.')
    for name, value in row.items():
        if fault := _fault(name, value):
            raise ItemError(f'{where}: "{name}" {fault}. Mend the line.')
    item = Item(row["kind"], row["text"], row.get("conditions", ""))
    names = ("problem", "run", *_COUNTS, "status", "reason", "question", "thread", "time")
    return Published(item, **{name: row[name] for name in names if name in row})


def _fault(name: str, value: Any) -> str:
    """What is wrong with the value of a field, in words; nothing if it is right."""
    if choices := _CHOICES.get(name):
        return "" if value in choices else f"is {value!r:.40}, but must be {' or '.join(choices)}"
    if name in _COUNTS:
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
        return "" if whole else f"is {_short(value)}, but must be a whole number from 0 on"
    if not isinstance(value, str):
        return f"is {_short(value)}, but must be a text"
    if name == "text" and not value.strip():
        return "is empty"
    if len(value) > _LONGEST.get(name, _MOST):
        return f"has {len(value)} characters, but may have {_LONGEST[name]}"
    if name in _ONE_LINE and ("\n" in value or "\r" in value):
        return "has several lines, but must be one"
    if name == "time" and value and not _is_time(value):
        return f"is {value!r:.40}, but must be a time, as 2026-01-31T12:00:00+00:00"
    return "" if value.isascii() or _is_unicode(value) else "holds half a character"


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _short(value: object) -> str:
    text = str(value) if isinstance(value, Exception) else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
