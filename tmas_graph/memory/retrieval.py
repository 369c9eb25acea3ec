"""Which items of the experience bank a prompt shows, in which order, and with what history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tmas_graph.memory.experience_bank import ExperienceBank
from tmas_graph.memory.items import Item, ItemKind
from tmas_graph.memory.ledger import Entry, Status
from tmas_graph.prompts import within


@dataclass(frozen=True, slots=True)
class Noted:
    """An item as a prompt shows it: what it says, and what became of it."""

    item: Item
    entry: Entry
    number: int
    """Its place in the ledger, from 1 on; it stays as the ledger grows."""

    @property
    def name(self) -> str:
        """How agents name it."""
        return f"E{self.number}"

    @property
    def kind(self) -> ItemKind:
        """What kind of item it is; one that was refuted keeps its kind."""
        return self.item.kind

    @property
    def text(self) -> str:
        """What it says."""
        return self.item.text

    @property
    def conditions(self) -> str:
        """When it holds, if not always."""
        return self.item.conditions

    @property
    def status(self) -> Status:
        """Open, supported or refuted."""
        return self.entry.status

    @property
    def support(self) -> int:
        """How many iterations support it."""
        return self.entry.support

    @property
    def reason(self) -> str:
        """Why it was refuted."""
        return self.entry.reason


def noted(ledger: Sequence[Entry], items: Mapping[str, Item]) -> list[Noted]:
    """The entries whose items are at hand (by id), in the order of the ledger."""
    return [
        Noted(items[entry.id], entry, number)
        for number, entry in enumerate(ledger, 1)
        if entry.id in items
    ]


async def retrieve(bank: ExperienceBank, query: str, ledger: Sequence[Entry]) -> list[Noted]:
    """All items of `ledger` in the order in which they are worth to be shown.

    Those that are about as near to `query` (within a tenth of the cosine distance) are ranked by
    what speaks for them; refuted ones come last.
    """
    near = {n.item.id: n for n in await bank.nearest(query, [entry.id for entry in ledger])}
    found = noted(ledger, {id: n.item for id, n in near.items()})

    def order(one: Noted) -> tuple[bool, float, int, float, str]:
        distance, entry = near[one.entry.id].distance, one.entry
        refuted, speaking = one.status == "refuted", entry.support - entry.contradictions
        return refuted, round(distance, 1), -speaking, round(distance, 6), entry.id

    return sorted(found, key=order)


def offered(items: Sequence[Noted]) -> list[Noted]:
    """Those that help to write a solution: all but refuted pitfalls, which warn of nothing."""
    return [one for one in items if (one.kind, one.status) != ("pitfall", "refuted")]


def fitted(items: Sequence[Noted], tokens: int) -> list[Noted]:
    """The first of `items` that fit into about `tokens`."""
    return list(items[: within(map(words, items), tokens)])


def words(one: Noted) -> str:
    """About what a prompt says of an item."""
    reason = one.reason if one.status == "refuted" else ""
    return "\n".join(filter(None, (one.text, one.conditions, reason)))
