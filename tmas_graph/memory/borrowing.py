"""What a problem is shown of other problems' experience: techniques and pitfalls, never results.

It is chosen after each iteration for the next one, and pinned in the graph's state with its text:
a resume, a replay or a fork shows what was chosen then, whatever others have published since.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tmas_graph.memory.chroma import Filter
from tmas_graph.memory.embeddings import thresholds_of
from tmas_graph.memory.items import Item, ItemKind, in_one_line
from tmas_graph.memory.ledger import CORRECTED, Entry, Status
from tmas_graph.memory.library import Found, Library, Origin, Published, library_of
from tmas_graph.memory.merging import new_items
from tmas_graph.memory_settings import Memories
from tmas_graph.prompts import estimate_tokens
from tmas_graph.state import Problem

Row = tuple[str, str, str, str, str, str]
"""The fields of a Borrowed: what a checkpoint holds of it."""
SHARE = 4
"""One part in so many of the experience's tokens is for what is borrowed."""
_CANDIDATES = 50
"""Items of the library among which is chosen."""


@dataclass(frozen=True, slots=True)
class Borrowed:
    """An item of another problem, as a prompt shows it."""

    kind: ItemKind
    text: str
    conditions: str
    status: Status
    """How it stood there; a refuted technique is shown as a pitfall."""
    reason: str
    """Why it was refuted there."""
    problem: str
    """Id of that problem."""

    @classmethod
    def of(cls, one: Published) -> "Borrowed":
        """What is shown of `one`, each text on one line, whoever wrote it."""
        item = one.item
        said = map(in_one_line, (item.text, item.conditions, one.reason))
        text, conditions, reason = said
        return cls(item.kind, text, conditions, one.status, reason, one.problem)

    @property
    def tokens(self) -> int:
        """About how many a prompt spends on it."""
        reason = self.reason if self.status == "refuted" else ""
        return estimate_tokens("\n".join(filter(None, (self.text, self.conditions, reason))))


@dataclass(frozen=True, slots=True)
class Learned:
    """What an iteration made of a problem's own experience."""

    before: Sequence[Entry]
    after: Sequence[Entry]
    items: Iterable[Item]
    """Those of the ledger that are at hand."""
    thread: str = ""
    """Name of the thread that learned it, where it has one."""

    def changed(self) -> list[tuple[Item, Entry]]:
        """The items that are new, or stand otherwise than before."""
        return self._at_hand(entry for entry in self.after if entry not in self.before)

    def unchanged(self) -> list[tuple[Item, Entry]]:
        """The items that were published before as they stand."""
        return self._at_hand(entry for entry in self.after if entry in self.before)

    def _at_hand(self, entries: Iterable[Entry]) -> list[tuple[Item, Entry]]:
        items = {item.id: item for item in self.items}
        return [(items[entry.id], entry) for entry in entries if entry.id in items]


async def ready(settings: Memories) -> None:
    """See to it that the library can be written, if it will be.

    Raises:
        StorageError: another process writes to its folder, or it holds other vectors.
    """
    if settings.memory_scope != "problem":
        await library_of(settings).claim()


async def exchange(
    settings: Memories, problem: Problem, summaries: Iterable[str], learned: Learned
) -> tuple[Row, ...]:
    """Publish what was learned, and choose what the next iteration is shown of others.

    What was published before is so again where the library has lost it.

    Raises:
        StorageError: the store can't be used.
    """
    if settings.memory_scope == "problem":
        return ()
    library = library_of(settings)
    origin = Origin.of(problem, settings.run_name, learned.thread)
    now = datetime.now(UTC).isoformat(timespec="seconds")

    def published(rows: Iterable[tuple[Item, Entry]]) -> list[Published]:
        return [Published.of(item, entry, origin, now) for item, entry in rows]

    before = published(learned.unchanged())
    lost = await library.lost([one.id for one in before])
    again = [one for one in before if one.id in lost]
    changed = published(learned.changed())
    await library.write([*again, *await _first_dated(library, changed)])
    query = "\n".join([problem.question, *summaries])
    found = await library.nearest(query, others(settings, problem.id), _CANDIDATES)
    return rows_of(await chosen(library, found, learned.items, lent_tokens(settings)))


def others(settings: Memories, problem: str) -> Filter:
    """Which items are of use to `problem`: not its own of whatever run, and no results."""
    same_run = {"run": settings.run_name} if settings.memory_scope == "run" else {}
    return Filter(equal=same_run, unequal={"problem": problem, "kind": "conclusion"})


def lent_tokens(settings: Memories) -> int:
    """Most tokens of what is borrowed in one prompt."""
    return settings.experience_tokens // SHARE


async def chosen(
    library: Library, found: Sequence[Found], known: Iterable[Item], tokens: int
) -> list[Borrowed]:
    """Those of `found` that are worth to be shown, the best first, within about `tokens`.

    Those about as near are ranked by what speaks for them, refuted ones last. What the `known`
    items or better ones say already isn't said again; one that is too long makes way for shorter
    ones.
    """
    ranked = sorted((one for one in found if is_of_use(one.published)), key=_order)
    first = {one.published.item.id: one.published for one in reversed(ranked)}
    good, failed = ([o.published.item for o in part] for part in _parted(ranked))
    held = list(known)
    texts = list(dict.fromkeys(item.text for item in (*good, *failed, *held)))
    vectors = dict(zip(texts, await library.embedder.embed(texts), strict=True))

    alike = partial(new_items, vectors=vectors, thresholds=thresholds_of(library.embedder))

    def distinct() -> list[Item]:
        # Apart, so that what failed in some detail doesn't take the place of what holds.
        kept = alike(good, held)
        return [*kept, *alike(failed, [*held, *kept])]

    kept = []
    for one in (Borrowed.of(first[item.id]) for item in await asyncio.to_thread(distinct)):
        if one.tokens <= tokens:
            kept.append(one)
            tokens -= one.tokens
    return kept


def is_of_use(one: Published) -> bool:
    """Whether it says something to another problem.

    A result never does, nor a pitfall that was none; that a technique failed does if it is said
    why, and not if a better wording replaced it.
    """
    if one.item.kind == "conclusion":
        return False
    if one.status != "refuted":
        return True
    return one.item.kind == "technique" and one.reason not in ("", CORRECTED)


def borrowed_of(rows: Iterable[Sequence[Any]]) -> tuple[Borrowed, ...]:
    """What was borrowed of which the graph's state holds `rows`."""
    return tuple(Borrowed(*row) for row in rows)


def rows_of(borrowed: Iterable[Borrowed]) -> tuple[Row, ...]:
    """`borrowed` as the graph's state keeps it."""
    return tuple(astuple(one) for one in borrowed)


async def _first_dated(library: Library, items: Sequence[Published]) -> list[Published]:
    """`items`, those that were published before with the time at which they first were."""
    known = {one.id: one.time for one in await library.read([one.id for one in items])}
    return [replace(one, time=known.get(one.id, one.time)) for one in items]


def _parted(ranked: Sequence[Found]) -> tuple[list[Found], list[Found]]:
    """Those that hold, and those that were refuted."""
    good = [one for one in ranked if one.published.status != "refuted"]
    return good, [one for one in ranked if one.published.status == "refuted"]


def _order(one: Found) -> tuple[bool, float, int, float, str]:
    published = one.published
    refuted, speaking = published.status == "refuted", published.support - published.contradictions
    return refuted, round(one.distance, 1), -speaking, round(one.distance, 6), published.id
