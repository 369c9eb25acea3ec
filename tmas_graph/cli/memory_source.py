"""Where `tmas memory` looks: the library, or the bank of one thread.

What a look at the library doesn't need isn't loaded: LangGraph takes seconds.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from tmas_graph.errors import ItemError, StorageError
from tmas_graph.memory.library import FOLDER, Library, Published, library_of, library_to_read
from tmas_graph.memory.rows import Filter, Where
from tmas_graph.memory.transfer import plain
from tmas_graph.settings import Settings, near

_SHORT = 8
"""Characters of an id that are shown, where no other one begins so."""


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
    short: str
    """As much of its name as tells it from all others."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it."""

    def near(self, distance: float) -> "Held":
        """It as found at this distance from what was searched for."""
        return replace(self, more={**self.more, "similarity": round(1 - distance, 4)})

    def plain(self) -> dict[str, Any]:
        """All of it, as plain values."""
        return {**plain(self.published), **self.more}


class Source(Protocol):
    """A place with items."""

    @property
    def title(self) -> str:
        """How messages name it."""

    @property
    def folder(self) -> str | None:
        """Where it is, if it is in a folder."""

    @property
    def embedder(self) -> str:
        """Name of what made its vectors."""

    @property
    def knows_meaning(self) -> bool:
        """Whether those tell texts of one meaning."""

    async def items(self, meant: Mapping[str, str]) -> list[Held]:
        """Those that have the values `meant`, in their order."""

    async def search(self, text: str, meant: Mapping[str, str], count: int) -> list[Held]:
        """Up to `count` of those `meant`, nearest to `text` first, with their similarity."""


@dataclass(frozen=True, slots=True)
class OfLibrary:
    """The items of the library, the newest last."""

    library: Library
    title: str
    folder: str | None
    embedder: str

    @property
    def knows_meaning(self) -> bool:
        """Whether its vectors tell texts of one meaning."""
        return self.library.embedder.knows_meaning

    async def items(self, meant: Mapping[str, str]) -> list[Held]:
        """Those that have the values `meant`."""
        return await self._held(await self.library.find(Filter(equal=meant)))

    async def search(self, text: str, meant: Mapping[str, str], count: int) -> list[Held]:
        """Up to `count` of those `meant`, nearest to `text` first, with their similarity."""
        found = await self.library.nearest(text, Filter(equal=meant), count)
        held = await self._held([one.published for one in found])
        return [one.near(at.distance) for one, at in zip(held, found, strict=True)]

    async def _held(self, found: Sequence[Published]) -> list[Held]:
        alike = Counter(id[:_SHORT] for id in await self.library.ids())
        shorts = [one.id[:_SHORT] if alike[one.id[:_SHORT]] == 1 else one.id for one in found]
        return [Held(one, one.id, short) for one, short in zip(found, shorts, strict=True)]


def placed(place: Place) -> Settings:
    """The settings of `place`, which name a folder or server: that of the library at home."""
    settings = place.settings
    if settings.memory_folder or settings.memory_server:
        return settings
    return settings.model_copy(update={"memory_folder": str((place.home / FOLDER).resolve())})


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


def titled(where: Where) -> str:
    """How messages name the library at `where`."""
    return f"the library in {where}"


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
        from tmas_graph.cli.memory_thread import of_thread  # with LangGraph

        yield await of_thread(place, place.thread)
        return
    async with library_at(place) as library:
        where = library.store.where
        made_by = await library.embedded_by()
        folder = None if where.server else where.folder
        yield OfLibrary(library, titled(where), folder, made_by)


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
