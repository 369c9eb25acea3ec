"""Changes that `tmas memory` makes to the library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tmas_graph.cli.memory_source import (
    Held,
    Place,
    library_at,
    nothing_in,
    one_of,
    placed,
    titled,
)
from tmas_graph.memory.experience_bank import COLLECTION
from tmas_graph.memory.library import Progress, Published, library_of
from tmas_graph.memory.opening import bank_of
from tmas_graph.memory.rows import Filter
from tmas_graph.memory.transfer import Sorted, sort


@dataclass(frozen=True, slots=True)
class Chosen:
    """Items that are to be deleted."""

    ids: list[str]
    all: int
    """Of how many they are."""
    title: str
    """What they are in."""


async def take_in(place: Place, given: Sequence[Published], *, dedup: bool) -> Sorted:
    """Write those of `given` that the library at `place` doesn't hold.

    Raises:
        StorageError: it can't be written.
    """
    async with library_at(place, must_exist=False, writable=True) as library:
        await library.claim()
        done = await sort(given, await library.find(), library.embedder, dedup=dedup)
        await library.write(done.new)
    return done


async def which(place: Place, names: Sequence[str], meant: Mapping[str, str]) -> Chosen:
    """The items of these names, or else those `meant`.

    Raises:
        ItemError: a name is unknown.
    """
    async with library_at(place) as library:
        found = await library.find(Filter(equal=meant))
        held = [Held(one, one.id, one.id) for one in found]
        count, title = len(await library.ids()), titled(library.store.where)
    chosen = [one_of(held, name) for name in names] if names else held
    return Chosen(list(dict.fromkeys(one.published.id for one in chosen)), count, title)


async def remove(place: Place, ids: Sequence[str]) -> None:
    """Delete the items `ids`.

    Raises:
        StorageError: the library can't be written.
    """
    async with library_at(place, writable=True) as library:
        await library.remove(ids)


async def reembed(place: Place, progress: Progress) -> int:
    """Give all vectors at `place` anew, as the settings ask for; how many that were.

    That is the library with the banks of the threads that share its folder, or one thread's bank.

    Raises:
        StorageError: there is nothing, or another process writes to it.
        CallError: the embedding server gives no vectors.
    """
    settings = placed(place)
    if place.thread is not None:
        from tmas_graph.threads import look_into  # with LangGraph, which takes seconds

        async with look_into(place.home) as store:
            its = (await store.get(place.thread)).settings
        where = {"memory_folder": its.memory_folder, "memory_server": its.memory_server}
        settings = place.settings.model_copy(update=where)
    bank, library = bank_of(settings), library_of(settings)
    async with library.store.held():
        if not (await library.embedded_by() or await library.store.open(COLLECTION)):
            raise nothing_in(library.store.where)
        return await library.reembed(progress) + await bank.reembed(progress)
