"""Which items of the experience bank a prompt shows, in which order, and within which budget.

An item's score is its relevance plus what speaks for it: the cosine similarity to the nearest of
the texts that are asked for (the problem, and each flaw by itself), in [-1, 1], plus
`TRUST` · b / (b + 2), where b is the balance of its entry in the ledger. So a supported item
precedes an open one that is as relevant. Of refuted ones the relevance alone counts; they come
last and have a share of the budget, so that warnings never crowd out what helps.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from tmas_graph.memory.experience_bank import ExperienceBank
from tmas_graph.memory.items import Item, ItemKind
from tmas_graph.memory.ledger import Entry, Status, hidden
from tmas_graph.memory.ranking import LAMBDA, Floats, Ranked, diverse, matrix, relevance
from tmas_graph.prompts import estimate_tokens

TRUST = 0.2
"""What supports add to a relevance at most; two of them add half of it."""
PITFALLS = 4
"""The budget's part that is kept for refuted items is one in so many."""
RECENT = 2
"""Iterations whose items are judged first."""


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


@dataclass(frozen=True, slots=True)
class Recalled:
    """The items that a ledger knows and doesn't hide, in its order."""

    items: tuple[Noted, ...]
    vectors: Floats
    """A row for each."""

    @property
    def wrong(self) -> frozenset[str]:
        """Ids of those that are refuted."""
        return frozenset(one.entry.id for one in self.items if one.status == "refuted")


async def recalled(bank: ExperienceBank, ledger: Sequence[Entry]) -> Recalled:
    """Read what `ledger` knows, but for what another item absorbed, and for items that are lost."""
    gone = hidden(ledger)
    found = await bank.recall([entry.id for entry in ledger if entry.id not in gone])
    items = noted(ledger, {stored.item.id: stored.item for stored in found})
    vectors = {stored.item.id: stored.vector for stored in found}
    return Recalled(tuple(items), matrix([vectors[one.entry.id] for one in items]))


async def offered(
    bank: ExperienceBank, memories: Recalled, wanted: Sequence[str], tokens: int | None
) -> list[Noted]:
    """What helps to write a solution, best first; a refuted pitfall warns of nothing.

    One that is like those before it counts less, and one that doesn't fit makes room for a
    shorter one.

    Args:
        bank: what embeds the texts.
        memories: what there is.
        wanted: the problem, and each flaw that shall be repaired.
        tokens: how much may be shown; None: everything, in the order of the ledger.
    """
    useful = [o for o in memories.items if (o.kind, o.status) != ("pitfall", "refuted")]
    if tokens is None or not useful:
        return useful
    near = await _relevance(bank, memories, wanted)
    scores = {one.entry.id: near[one.entry.id] + TRUST * _trust(one) for one in useful}
    # Off the event loop: several threads of numpy take long on a busy machine.
    return await asyncio.to_thread(_chosen, _Choice(memories, scores, tokens, LAMBDA), useful)


async def judged(
    bank: ExperienceBank, memories: Recalled, wanted: Sequence[str], tokens: int | None
) -> list[Noted]:
    """What the Experience agent may judge.

    It must see what the attempts tell something about, and what it might note a second time: so
    `wanted` is the problem and all that the checks found. Half the budget goes to what candidates
    are likeliest to be shown, because that misleads them if it is wrong, however many support it;
    the other half to what is recent or open, as nobody has judged it yet. Refuted items are there
    as far as they have room, so that they aren't noted again. Likeness counts against none: two
    items that say nearly the same are what it should see side by side. Where all have room, they
    stand in the order of the ledger.
    """
    if tokens is None or sum(map(_cost, memories.items)) <= tokens:
        return list(memories.items)
    near = await _relevance(bank, memories, wanted)
    return await asyncio.to_thread(_to_judge, memories, near, tokens)


def fitted(items: Iterable[Noted], tokens: int) -> Iterator[Noted]:
    """The first of `items` that fit into about `tokens`."""
    spent = accumulate(map(_cost, items := tuple(items)))
    return (one for one, cost in zip(items, spent, strict=True) if cost <= tokens)


def words(one: Noted) -> str:
    """What a prompt says of an item at most: a line with its name, kind and history."""
    conditions = f" (if: {one.conditions})" if one.conditions else ""
    said = f"- {one.name} [{one.kind}] {one.text}{conditions}"
    if one.status == "refuted":
        return f"{said} (It is not true that: {one.reason})"
    return f"{said} (supported by {one.support})" if one.support else said


@dataclass(frozen=True, slots=True)
class _Choice:
    """What items are chosen by."""

    memories: Recalled
    scores: Mapping[str, float]
    """By id."""
    tokens: int
    weight: float
    """Of the score, against likeness."""


def _to_judge(memories: Recalled, near: Mapping[str, float], tokens: int) -> list[Noted]:
    newest = max(one.entry.iteration for one in memories.items)
    trusted = {o.entry.id: near[o.entry.id] + TRUST * _trust(o) for o in memories.items}
    needy = {o.entry.id: near[o.entry.id] + TRUST * _need(o, newest) for o in memories.items}
    right = [one for one in memories.items if one.status != "refuted"]
    first = _ranked(_Choice(memories, trusted, tokens // 2, 1.0), right)
    taken = {one.entry.id for one in first}
    rest = [one for one in memories.items if one.entry.id not in taken]
    left = tokens - sum(map(_cost, first))
    return [*first, *_chosen(_Choice(memories, needy, left, 1.0), rest)]


def _chosen(by: _Choice, items: Sequence[Noted]) -> list[Noted]:
    right = [one for one in items if one.status != "refuted"]
    wrong = [one for one in items if one.status == "refuted"]
    kept = min(by.tokens // PITFALLS, sum(map(_cost, wrong)))
    first = _ranked(replace(by, tokens=by.tokens - kept), right)
    return [*first, *_ranked(replace(by, tokens=by.tokens - sum(map(_cost, first))), wrong)]


def _ranked(by: _Choice, items: Sequence[Noted]) -> list[Noted]:
    ordered = sorted(items, key=lambda one: one.entry.id)
    rows = {one.entry.id: row for row, one in enumerate(by.memories.items)}
    ranked = Ranked(
        np.array([by.scores[one.entry.id] for one in ordered]),
        by.memories.vectors[[rows[one.entry.id] for one in ordered]],
        np.array([_cost(one) for one in ordered]),
    )
    return [ordered[place] for place in diverse(ranked, by.tokens, by.weight)] if ordered else []


async def _relevance(
    bank: ExperienceBank, memories: Recalled, wanted: Sequence[str]
) -> dict[str, float]:
    near = relevance(memories.vectors, matrix(await bank.embedder.embed(list(wanted))))
    return {one.entry.id: float(x) for one, x in zip(memories.items, near, strict=True)}


def _trust(one: Noted) -> float:
    """What speaks for an item, in [0, 1): 1/3 or less where it is open, else 1/2 or more."""
    balance = max(one.entry.balance, 0)
    return balance / (balance + 2)


def _need(one: Noted, newest: int) -> float:
    """How much an item needs to be judged, in [0, 1]; refuted ones don't."""
    if one.status == "refuted":
        return 0.0
    if one.entry.iteration > newest - RECENT:
        return 1.0
    return 0.5 if one.status == "open" else 0.0


def _cost(one: Noted) -> int:
    return estimate_tokens(words(one))
