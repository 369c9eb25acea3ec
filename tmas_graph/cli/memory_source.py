"""Where `tmas memory` looks: the library, or the bank of one thread with its ledger."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tmas_graph.configuration import with_keys
from tmas_graph.errors import ItemError, StorageError
from tmas_graph.memory.chroma import Filter, Row, Where
from tmas_graph.memory.embeddings import Embedder
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.library import Library, Published, library_of, library_to_read
from tmas_graph.memory.opening import embedder_of
from tmas_graph.memory.ranking import by_distance
from tmas_graph.memory.retrieval import Noted, noted
from tmas_graph.memory.transfer import plain
from tmas_graph.recovery import texts_of
from tmas_graph.settings import Settings, near
from tmas_graph.threads import LIBRARY, open_threads


@dataclass(frozen=True, slots=True)
class Place:
    """What the options say of where to look."""

    home: Path
    settings: Settings
    thread: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """One item as it is shown."""

    published: Published
    name: str
    """How it is asked for."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it."""

    def plain(self) -> dict[str, Any]:
        """All of it, as plain values."""
        return {**plain(self.published), **self.more}


@dataclass(frozen=True, slots=True)
class OfLibrary:
    """The items of the library."""

    library: Library
    title: str
    folder: str | None
    embedder: str

    async def items(self, meant: Mapping[str, str]) -> list[Held]:
        """Those that have the values `meant`, the newest last."""
        return [Held(one, one.id) for one in await self.library.find(Filter(equal=meant))]

    async def search(self, text: str, meant: Mapping[str, str], count: int) -> list[Held]:
        """Up to `count` of those `meant`, nearest to `text` first, with their similarity."""
        found = await self.library.nearest(text, Filter(equal=meant), count)
        return [
            Held(one.published, one.published.id, {"similarity": round(1 - one.distance, 4)})
            for one in found
        ]


@dataclass(frozen=True, slots=True)
class OfThread:
    """The items of one thread, in the order of its ledger."""

    held: Sequence[Held]
    title: str
    folder: str | None
    vectors: Embedder

    @property
    def embedder(self) -> str:
        """Name of what makes its vectors."""
        return self.vectors.name

    async def items(self, meant: Mapping[str, str]) -> list[Held]:
        """Those that have the values `meant`."""
        return [one for one in self.held if meant.items() <= one.plain().items()]

    async def search(self, text: str, meant: Mapping[str, str], count: int) -> list[Held]:
        """Up to `count` of those `meant`, nearest to `text` first, with their similarity."""
        by_id = {one.published.item.id: one for one in await self.items(meant)}
        texts = [one.published.item.text for one in by_id.values()]
        query, *vectors = await self.vectors.embed([text, *texts])
        rows = [Row(id, "", {}, vector) for id, vector in zip(by_id, vectors, strict=True)]
        found = []
        for row in by_distance(query, rows)[:count]:
            one, similarity = by_id[row.id], round(1 - row.distance, 4)
            found.append(Held(one.published, one.name, {**one.more, "similarity": similarity}))
        return found


Source = OfLibrary | OfThread
"""A place with items."""


def placed(place: Place) -> Settings:
    """The settings of `place`, which name a folder or server: that of the library at home."""
    settings = place.settings
    if settings.memory_folder or settings.memory_server:
        return settings
    return settings.model_copy(update={"memory_folder": str((place.home / LIBRARY).resolve())})


@asynccontextmanager
async def library_at(
    place: Place, *, must_exist: bool = True, writable: bool = False
) -> AsyncIterator[Library]:
    """The library at `place`, closed at the end.

    Raises:
        StorageError: there is none, or it can't be read.
    """
    library = library_of(placed(place)) if writable else library_to_read(placed(place))
    async with library.store.held():
        if must_exist and not await library.embedded_by():
            raise nothing_in(library.store.where)
        yield library


def nothing_in(where: Where) -> StorageError:
    """The error of who looks where nothing was ever published."""
    return StorageError(
        f"memory: there is no library in {where}. Runs with memory_scope run or library fill one, "
        "and --memory-folder or --memory-server names another."
    )


@asynccontextmanager
async def source_at(place: Place) -> AsyncIterator[Source]:
    """What `place` means, to be read; no lock is taken.

    Raises:
        StorageError: there is no library, or it can't be read.
        ThreadError: there is no such thread.
    """
    if place.thread is not None:
        yield await _of_thread(place, place.thread)
        return
    async with library_at(place) as library:
        where = library.store.where
        made_by = await library.embedded_by()
        folder = None if where.server else where.folder
        yield OfLibrary(library, f"the library in {where}", folder, made_by)


def one_of(held: Sequence[Held], name: str) -> Held:
    """The item of this name; how its id begins is enough if no other's begins so.

    Raises:
        ItemError: there is none, or there are several.
    """
    exact = [one for one in held if name in (one.name, one.published.id)]
    found = exact or [one for one in held if name and one.published.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ItemError(f"memory: {name!r} begins {len(found)} ids. Give more of it.")
    known = [one.name for one in held]
    raise ItemError(
        f"memory: there is no item {name!r}{near(name, known)}. `tmas memory list` lists them."
    )


async def _of_thread(place: Place, name: str) -> OfThread:
    async with open_threads(place.home) as store:
        record = await store.get(name)
        ledger = ledger_of((await store.values(record.id)).get("experience", ()))
        ids, settings = [entry.id for entry in ledger], with_keys(record.settings, place.settings)
        items = await texts_of(settings, ids, store.saver, record.id)
    found = noted(ledger, items)
    names = {one.entry.id: one.name for one in found}
    held = [_held(one, names, record.problem.id, settings.run_name) for one in found]
    folder = None if settings.memory_server else settings.memory_folder
    return OfThread(held, f"thread {record.id}", folder, embedder_of(settings.embeddings))


def _held(one: Noted, names: Mapping[str, str], problem: str, run: str) -> Held:
    more = {
        "name": one.name,
        "supported": list(one.entry.supported),
        "contradicted": list(one.entry.contradicted),
        "corrected_by": names.get(one.entry.corrected_by, ""),
    }
    return Held(Published.of(one.item, one.entry, problem, run), one.name, more)
