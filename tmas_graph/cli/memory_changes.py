"""Changes that `tmas memory` makes to the library."""

from collections.abc import Mapping, Sequence

from tmas_graph.cli.memory_source import Held, Place, library_at, one_of
from tmas_graph.memory.chroma import Filter
from tmas_graph.memory.library import Published
from tmas_graph.memory.transfer import Sorted, sort


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


async def which(place: Place, names: Sequence[str], meant: Mapping[str, str]) -> list[str]:
    """Ids of the items of these names, or else of those `meant`.

    Raises:
        ItemError: a name is unknown.
    """
    async with library_at(place) as library:
        held = [Held(one, one.id) for one in await library.find(Filter(equal=meant))]
    chosen = [one_of(held, name) for name in names] if names else held
    return list(dict.fromkeys(one.published.id for one in chosen))


async def remove(place: Place, ids: Sequence[str]) -> None:
    """Delete the items `ids`.

    Raises:
        StorageError: the library can't be written.
    """
    async with library_at(place, writable=True) as library:
        await library.remove(ids)
