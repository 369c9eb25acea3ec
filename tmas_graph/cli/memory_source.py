"""Where `tmas memory` looks: the library, or the bank of one thread with its ledger."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tmas_graph.cli.session import with_keys
from tmas_graph.errors import ItemError, StorageError
from tmas_graph.memory.chroma import Filter
from tmas_graph.memory.experience_bank import ExperienceBank
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.library import Library, Published, library_of
from tmas_graph.memory.opening import bank_of
from tmas_graph.memory.retrieval import Noted, noted
from tmas_graph.memory.transfer import plain
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

    bank: ExperienceBank
    held: Sequence[Held]
    title: str
    folder: str | None
    embedder: str

    async def items(self, meant: Mapping[str, str]) -> list[Held]:
        """Those that have the values `meant`."""
        return [one for one in self.held if meant.items() <= one.plain().items()]

    async def search(self, text: str, meant: Mapping[str, str], count: int) -> list[Held]:
        """Up to `count` of those `meant`, nearest to `text` first, with their similarity."""
        by_id = {one.published.item.id: one for one in await self.items(meant)}
        found = []
        for near_one in (await self.bank.nearest(text, list(by_id)))[:count]:
            one, similarity = by_id[near_one.item.id], round(1 - near_one.distance, 4)
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
async def library_at(place: Place, *, must_exist: bool = True) -> AsyncIterator[Library]:
    """The library at `place`, closed at the end.

    Raises:
        StorageError: there is none, or it can't be read.
    """
    library = library_of(placed(place))
    if must_exist and not library.store.exists():
        raise StorageError(
            f"memory: there is no library in {library.store.where}. Runs with memory_scope run or "
            "library fill one, and --memory-folder or --memory-server names another."
        )
    try:
        yield library
    finally:
        await library.store.close()


@asynccontextmanager
async def source_at(place: Place) -> AsyncIterator[Source]:
    """What `place` means, to be read; no lock is taken.

    Raises:
        StorageError: there is no library, or it can't be read.
        ThreadError: there is no such thread.
    """
    if place.thread is not None:
        bank, source = await _of_thread(place, place.thread)
        try:
            yield source
        finally:
            await bank.store.close()
        return
    async with library_at(place) as library:
        where = library.store.where
        made_by = await library.embedded_by() or library.embedder.name
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


async def _of_thread(place: Place, name: str) -> tuple[ExperienceBank, Source]:
    async with open_threads(place.home) as store:
        record = await store.get(name)
        values = await store.values(record.id)
    settings = with_keys(record.settings, place.settings)
    bank, ledger = bank_of(settings), ledger_of(values.get("experience", ()))
    items = await bank.read([entry.id for entry in ledger]) if bank.store.exists() else []
    found = noted(ledger, {item.id: item for item in items})
    names = {one.entry.id: one.name for one in found}
    held = [_held(one, names, record.problem.id, settings.run_name) for one in found]
    where = bank.store.where
    folder = None if where.server else where.folder
    return bank, OfThread(bank, held, f"thread {record.id}", folder, bank.embedder.name)


def _held(one: Noted, names: Mapping[str, str], problem: str, run: str) -> Held:
    more = {
        "name": one.name,
        "supported": list(one.entry.supported),
        "contradicted": list(one.entry.contradicted),
        "corrected_by": names.get(one.entry.corrected_by, ""),
    }
    return Held(Published.of(one.item, one.entry, problem, run), one.name, more)
