from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tmas_graph.memory.chroma import Where
from tmas_graph.memory.experience_bank import ExperienceBank, open_bank
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import Noted, fitted, noted, offered, retrieve, words
from tmas_graph.prompts import estimate_tokens

pytestmark = pytest.mark.anyio
FAR = Item("technique", "complete the square in y")
ALIKE = [Item("conclusion", f"the sum of the first n odd numbers is n^2, case {c}") for c in "abcd"]
QUERY = "the sum of the first n odd numbers"


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[ExperienceBank]:
    bank = open_bank(Where(str(tmp_path / "memory")))
    await bank.write([*ALIKE, FAR], problem="p", iteration=0)
    yield bank
    await bank.store.close()


async def ranked(bank: ExperienceBank, *ledger: Entry) -> list[Item]:
    return [one.item for one in await retrieve(bank, QUERY, ledger)]


async def test_what_is_about_as_near_is_ranked_by_what_speaks_for_it(bank: ExperienceBank) -> None:
    a, b, c, _ = (item.id for item in ALIKE)
    ledger = (Entry(a, 0), Entry(b, 0, supported=(1,)), Entry(c, 0, supported=(1, 2)))
    expected = [ALIKE[2], ALIKE[1], ALIKE[0]]
    assert await ranked(bank, *ledger) == await ranked(bank, *ledger[::-1]) == expected


async def test_what_is_far_comes_after_what_is_near_whatever_speaks_for_it(
    bank: ExperienceBank,
) -> None:
    far, near = Entry(FAR.id, 0, supported=(1, 2, 3)), Entry(ALIKE[0].id, 0)
    assert await ranked(bank, far, near) == [ALIKE[0], FAR]


async def test_refuted_items_come_last(bank: ExperienceBank) -> None:
    refuted = Entry(ALIKE[0].id, 0, supported=(1, 2, 3), contradicted=(4,))
    assert await ranked(bank, refuted, Entry(FAR.id, 0)) == [FAR, ALIKE[0]]


async def test_names_are_places_in_the_ledger(bank: ExperienceBank) -> None:
    ledger = [Entry("gone", 0), Entry(FAR.id, 0), Entry(ALIKE[0].id, 1)]
    found = await retrieve(bank, QUERY, ledger)
    assert [(one.name, one.item) for one in found] == [("E3", ALIKE[0]), ("E2", FAR)]


def of(kind: str, **entry: object) -> Noted:
    return Noted(Item(kind, "text", "given"), Entry("i", 0, **entry), 1)  # type: ignore[arg-type]


def test_a_refuted_pitfall_is_offered_to_nobody() -> None:
    refuted = {"contradicted": (1,)}
    shown = [of("conclusion"), of("conclusion", **refuted), of("technique", **refuted)]
    assert offered([*shown, of("pitfall", **refuted)]) == shown


def test_what_is_shown_fits_with_its_conditions_and_reasons() -> None:
    one = of("conclusion", contradicted=(1,), reason="because")
    assert words(one) == "text\ngiven\nbecause"
    tokens = estimate_tokens(words(one))
    assert fitted([one] * 3, 2 * tokens) == [one] * 2
    assert fitted([one] * 3, 2 * tokens - 1) == [one]


def test_a_reason_is_not_shown_where_the_item_opened_again() -> None:
    one = of("conclusion", supported=(2, 3), contradicted=(1,), reason="because")
    assert (one.status, words(one)) == ("open", "text\ngiven")


def test_entries_whose_items_are_lost_are_left_out() -> None:
    assert noted([Entry("a", 0), Entry("b", 0)], {"b": FAR}) == [Noted(FAR, Entry("b", 0), 2)]
