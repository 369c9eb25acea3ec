from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from tmas_graph.memory.chroma import Where
from tmas_graph.memory.embeddings import Embedder
from tmas_graph.memory.experience_bank import ExperienceBank, open_bank
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import Noted, judged, noted, offered, recalled, words
from tmas_graph.prompts import estimate_tokens

pytestmark = pytest.mark.anyio
FAR = Item("technique", "complete the square in y")
ALIKE = [Item("conclusion", f"the sum of the first n odd numbers is n^2, case {c}") for c in "abcd"]
QUERY = "the sum of the first n odd numbers"
WRONG = [Item("conclusion", f"the sum of the first n odd numbers is n^2 + {n}") for n in range(6)]
PLENTY = 1000


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[ExperienceBank]:
    bank = open_bank(Where(str(tmp_path / "memory")))
    await bank.write([*ALIKE, FAR, *WRONG], problem="p", iteration=0)
    yield bank
    await bank.store.close()


async def shown(
    bank: ExperienceBank, *ledger: Entry, wanted: tuple[str, ...] = (QUERY,), tokens: int = PLENTY
) -> list[Item]:
    memories = await recalled(bank, ledger)
    return [one.item for one in await offered(bank, memories, wanted, tokens)]


def refuted(item: Item) -> Entry:
    return Entry(item.id, 0, supported=(1, 2, 3), contradicted=(4,), reason="no")


async def test_what_is_as_near_is_ranked_by_what_speaks_for_it(bank: ExperienceBank) -> None:
    a, b, c, _ = (item.id for item in ALIKE)
    ledger = (Entry(a, 0), Entry(b, 0, supported=(1,)), Entry(c, 0, supported=(1, 2)))
    expected = [ALIKE[2], ALIKE[1], ALIKE[0]]
    assert await shown(bank, *ledger) == await shown(bank, *ledger[::-1]) == expected


async def test_what_is_near_comes_before_what_is_far(bank: ExperienceBank) -> None:
    far, near = Entry(FAR.id, 0, supported=(1, 2)), Entry(ALIKE[0].id, 0)
    assert await shown(bank, far, near) == [ALIKE[0], FAR]


async def test_a_flaw_brings_what_is_near_to_it_alone(bank: ExperienceBank) -> None:
    far, near = Entry(FAR.id, 0), Entry(ALIKE[0].id, 0)
    wanted = ("a question about nothing else", "The square in y isn't completed.")
    assert await shown(bank, near, far, wanted=wanted) == [FAR, ALIKE[0]]


async def test_an_item_unlike_those_shown_already_precedes_one_that_is_alike(
    bank: ExperienceBank,
) -> None:
    wanted = (QUERY, "completing the square")
    found = await shown(bank, *(Entry(i.id, 0) for i in (*ALIKE, FAR)), wanted=wanted)
    assert found.index(FAR) == 1


async def test_refuted_items_come_last_and_leave_the_most_room(bank: ExperienceBank) -> None:
    right = Entry(FAR.id, 0)
    assert await shown(bank, *map(refuted, WRONG), right) == [FAR, *_in_order(WRONG)]
    memories = await recalled(bank, [*map(refuted, WRONG), *(Entry(i.id, 0) for i in ALIKE)])
    tokens = 4 * max(estimate_tokens(words(one)) for one in memories.items)
    found = await offered(bank, memories, [QUERY], tokens)
    assert [one.status for one in found] == ["open", "open", "open", "refuted"]


def _in_order(items: list[Item]) -> list[Item]:
    """Those whose score is one are shown in the order of their ids."""
    return sorted(items, key=lambda item: item.id)


async def test_the_budget_is_kept_and_a_shorter_item_may_fit(bank: ExperienceBank) -> None:
    ledger = [Entry(i.id, 0) for i in (*ALIKE, FAR)]
    memories = await recalled(bank, ledger)
    costs = {one.item: estimate_tokens(words(one)) for one in memories.items}
    tokens = costs[ALIKE[0]] + costs[FAR]
    assert costs[FAR] < costs[ALIKE[0]]
    found = await shown(bank, *ledger, tokens=tokens)
    assert len(found) == 2
    assert found[1] == FAR
    assert await shown(bank, *ledger, tokens=costs[FAR] - 1) == []


async def test_without_a_budget_all_are_shown_in_the_order_of_the_ledger(
    bank: ExperienceBank,
) -> None:
    ledger = [refuted(WRONG[0]), Entry(FAR.id, 0), Entry(ALIKE[0].id, 1, supported=(2,))]
    memories = await recalled(bank, ledger)
    for found in (
        await offered(bank, memories, [QUERY], None),
        await judged(bank, memories, [QUERY], None),
    ):
        assert [one.item for one in found] == [WRONG[0], FAR, ALIKE[0]]


async def test_the_experience_agent_sees_all_that_have_room_and_nothing_is_embedded_for_it(
    bank: ExperienceBank,
) -> None:
    ledger = [refuted(WRONG[0]), Entry(FAR.id, 0), Entry(ALIKE[0].id, 1, supported=(2,))]
    memories = await recalled(bank, ledger)
    tokens = sum(estimate_tokens(words(one)) for one in memories.items)
    blind = replace(bank, embedder=cast(Embedder, None))
    found = await judged(blind, memories, [QUERY], tokens)
    assert [one.item for one in found] == [WRONG[0], FAR, ALIKE[0]]
    with pytest.raises(AttributeError):
        await judged(blind, memories, [QUERY], tokens - 1)


async def test_names_are_places_in_the_ledger(bank: ExperienceBank) -> None:
    ledger = [Entry("gone", 0), Entry(FAR.id, 0), Entry(ALIKE[0].id, 1)]
    found = await offered(bank, await recalled(bank, ledger), [QUERY], PLENTY)
    assert [(one.name, one.item) for one in found] == [("E3", ALIKE[0]), ("E2", FAR)]


async def test_what_was_absorbed_is_shown_to_nobody_while_the_other_stands(
    bank: ExperienceBank,
) -> None:
    less, more = Entry(ALIKE[0].id, 0, absorbed_by=ALIKE[1].id), Entry(ALIKE[1].id, 2)
    assert await shown(bank, less, more) == [ALIKE[1]]
    assert await shown(bank, less, refuted(ALIKE[1])) == [ALIKE[0], ALIKE[1]]


async def test_the_experience_agent_sees_what_is_trusted_and_what_is_recent(
    bank: ExperienceBank,
) -> None:
    trusted = [Entry(i.id, 0, supported=(1, 2, 3)) for i in ALIKE]
    recent, old = Entry(FAR.id, 9), [Entry(i.id, 0) for i in WRONG]
    memories = await recalled(bank, [*old, *trusted, recent])
    tokens = 4 * max(estimate_tokens(words(one)) for one in memories.items)
    found = [one.item for one in await judged(bank, memories, [QUERY], tokens)]
    assert found[:2] == _in_order(ALIKE)[:2]
    assert set(found[:2]) <= set(ALIKE)
    assert sum(item in WRONG for item in found) >= 1
    assert len(found) >= 4


async def test_nothing_noted_is_nothing_shown(bank: ExperienceBank) -> None:
    assert await shown(bank) == []
    assert await judged(bank, await recalled(bank, []), [QUERY], PLENTY) == []


def of(kind: str, **entry: object) -> Noted:
    return Noted(Item(kind, "text", "given"), Entry("i", 0, **entry), 1)  # type: ignore[arg-type]


async def test_a_refuted_pitfall_is_offered_to_nobody(bank: ExperienceBank) -> None:
    pitfall = Item("pitfall", "never divide by x")
    await bank.write([pitfall], problem="p", iteration=0)
    assert await shown(bank, refuted(pitfall), Entry(FAR.id, 0)) == [FAR]


def test_what_is_counted_is_what_a_prompt_says_at_most() -> None:
    one = of("conclusion", contradicted=(1,), reason="because")
    assert words(one) == "- E1 [conclusion] text (if: given) (It is not true that: because)"
    assert words(of("pitfall", supported=(1,))).endswith("text (if: given) (supported by 1)")


def test_a_reason_is_not_shown_where_the_item_opened_again() -> None:
    one = of("conclusion", supported=(2, 3), contradicted=(1,), reason="because")
    assert one.status == "open"
    assert "because" not in words(one)


def test_entries_whose_items_are_lost_are_left_out() -> None:
    assert noted([Entry("a", 0), Entry("b", 0)], {"b": FAR}) == [Noted(FAR, Entry("b", 0), 2)]
