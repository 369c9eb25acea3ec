"""The bank of one thread with its ledger, as `tmas memory --thread` reads it; nothing is locked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tmas_graph.cli.banks import strategies
from tmas_graph.cli.memory_source import Held, Place
from tmas_graph.configuration import with_keys
from tmas_graph.memory.chroma import Row
from tmas_graph.memory.embeddings import Embedder
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.library import Origin, Published
from tmas_graph.memory.opening import embedder_of
from tmas_graph.memory.ranking import by_distance
from tmas_graph.memory.retrieval import Noted, noted
from tmas_graph.recovery import texts_of
from tmas_graph.threads import look_into


@dataclass(frozen=True, slots=True)
class OfThread:
    """The items of one thread, in the order of its ledger."""

    held: Sequence[Held]
    title: str
    folder: str | None
    vectors: Embedder = field(repr=False)

    @property
    def embedder(self) -> str:
        """Name of what makes its vectors."""
        return self.vectors.name

    @property
    def knows_meaning(self) -> bool:
        """Whether those tell texts of one meaning."""
        return self.vectors.knows_meaning

    async def items(self, meant: Mapping[str, str]) -> list[Held]:
        """Those that have the values `meant`."""
        return [one for one in self.held if meant.items() <= one.plain().items()]

    async def search(self, text: str, meant: Mapping[str, str], count: int) -> list[Held]:
        """Up to `count` of those `meant`, nearest to `text` first, with their similarity."""
        by_id = {one.published.item.id: one for one in await self.items(meant)}
        texts = [one.published.item.text for one in by_id.values()]
        query, *vectors = await self.vectors.embed([text, *texts])
        rows = [Row(id, "", {}, vector) for id, vector in zip(by_id, vectors, strict=True)]
        return [by_id[row.id].near(row.distance) for row in by_distance(query, rows)[:count]]


async def of_thread(place: Place, name: str) -> OfThread:
    """The bank of thread `name`.

    Raises:
        ThreadError: there is no such thread.
        StorageError: its texts can't be read.
    """
    async with look_into(place.home) as store:
        record = await store.get(name)
        ledger = ledger_of((await store.values(record.id)).get("experience", ()))
        ids, settings = [entry.id for entry in ledger], with_keys(record.settings, place.settings)
        items = await texts_of(settings, ids, store.saver, record.id)
    found = noted(ledger, items)
    names = {one.entry.id: one.name for one in found}
    origin = Origin.of(record.problem, settings.run_name, record.id)
    held = [_held(one, names, origin) for one in found]
    folder = None if settings.memory_server else settings.memory_folder
    return OfThread(held, f"thread {record.id}", folder, embedder_of(settings.embeddings))


async def strategies_of(place: Place, name: str) -> list[dict[str, object]]:
    """The guideline bank of thread `name`, as plain values.

    Raises:
        ThreadError: there is no such thread.
    """
    async with look_into(place.home) as store:
        record = await store.get(name)
        return strategies((await store.values(record.id)).get("strategies", ()))


def _held(one: Noted, names: Mapping[str, str], origin: Origin) -> Held:
    more = {
        "name": one.name,
        "supported": list(one.entry.supported),
        "contradicted": list(one.entry.contradicted),
        "corrected_by": names.get(one.entry.corrected_by, ""),
    }
    return Held(Published.of(one.item, one.entry, origin), one.name, one.name, more)
