from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Changes, Entry, applied, ledger_of, rows_of, united
from tmas_graph.serde import serializer

A, B, C = (Item("conclusion", text) for text in ("n = 1 holds", "n = 2 holds", "n = 3 holds"))


def after(*replies: Changes) -> dict[str, Entry]:
    """The ledger after one reply per iteration, by id."""
    ledger: tuple[Entry, ...] = ()
    for iteration, changes in enumerate(replies):
        ledger = applied(ledger, changes, iteration)
    return {entry.id: entry for entry in ledger}


def noted(*items: Item) -> Changes:
    return Changes(added=items)


def support(item: Item = A) -> Changes:
    return Changes(supported=(item.id,))


def refute(item: Item = A, reason: str = "no") -> Changes:
    return Changes(refuted={item.id: reason})


NOTHING = Changes()


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        ([], "open"),
        ([support()], "open"),
        ([support(), support()], "supported"),
        ([support(), NOTHING, support()], "supported"),
        ([support(), support(), support(), refute()], "refuted"),
        ([refute(), support()], "refuted"),
        ([refute(), support(), support()], "open"),
        ([support(), support(), refute(), support(), support()], "open"),
        ([refute(), support(), support(), support()], "supported"),
        ([refute(), refute(), support(), support()], "refuted"),
        ([refute(), refute(), support(), support(), support()], "open"),
        ([refute(), support(), support(), refute()], "refuted"),
        ([Changes(supported=(A.id,), refuted={A.id: "no"})], "refuted"),
        ([noted(A), noted(A)], "supported"),
        ([support(B), refute(B)], "open"),
    ],
    ids=str,
)
def test_the_status_follows_from_what_each_iteration_said(
    replies: list[Changes], status: str
) -> None:
    assert after(noted(A), *replies)[A.id].status == status


def test_an_item_keeps_where_it_is_from_and_who_spoke_for_it_and_against_it() -> None:
    entry = after(NOTHING, noted(A), support(), refute(reason="a"), refute(reason=""))[A.id]
    assert entry == Entry(A.id, 1, supported=(2,), contradicted=(3, 4), reason="a")
    assert (entry.support, entry.contradictions) == (1, 2)


def test_noting_an_item_is_no_support_for_it() -> None:
    assert after(noted(A, A))[A.id].support == 0
    assert after(Changes(added=(A,), supported=(A.id,)))[A.id].support == 0


def test_a_corrected_item_is_refuted_and_the_correction_is_noted() -> None:
    ledger = after(noted(A), Changes(corrected={A.id: B}))
    assert ledger[A.id] == Entry(A.id, 0, (), (1,), corrected_by=B.id, reason="corrected")
    assert (ledger[A.id].status, ledger[B.id]) == ("refuted", Entry(B.id, 1))


def test_a_correction_that_is_noted_already_is_supported() -> None:
    ledger = after(noted(A, B), Changes(corrected={A.id: B}))
    assert (ledger[A.id].corrected_by, ledger[B.id].support) == (B.id, 1)


def test_a_correction_that_changes_nothing_is_support() -> None:
    changes = united(Changes(corrected={A.id: Item("conclusion", "n=1 holds.")}), [A])
    assert after(noted(A), changes) == {A.id: Entry(A.id, 0, supported=(1,))}


def test_what_the_ledger_does_not_hold_is_no_matter() -> None:
    changes = Changes(supported=("x",), refuted={"y": ""}, corrected={"z": B})
    assert list(after(noted(A), changes)) == [A.id, B.id]


def test_an_item_in_other_words_is_united_with_the_first_that_said_it() -> None:
    again, twice = Item("conclusion", "n=1 holds."), Item("conclusion", "n=3 holds")
    changes = Changes(added=(again, C, twice, B), corrected={B.id: twice})
    one = united(changes, [A])
    assert one.added == (A, C, C, B)
    assert one.corrected == {B.id: C}
    assert one.items == (A, C, B)


def test_rows_are_plain_small_and_come_back_from_a_checkpoint() -> None:
    ledger = tuple(after(noted(A, B), support(), Changes(corrected={B.id: C})).values())
    serde = serializer()
    kind, stored = serde.dumps_typed(rows_of(ledger))
    assert ledger_of(serde.loads_typed((kind, stored))) == ledger
    assert len(stored) < 50 * len(ledger)


items = st.sampled_from([A, B, C])
ids = items.map(lambda item: item.id)
replies = st.builds(
    Changes,
    added=st.lists(items, max_size=2).map(tuple),
    supported=st.lists(ids, max_size=2).map(tuple),
    refuted=st.dictionaries(ids, st.sampled_from(["", "r"]), max_size=2),
    corrected=st.dictionaries(ids, items, max_size=2),
)


@given(st.lists(replies, max_size=6))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_ledger_only_grows_and_what_is_applied_twice_counts_once(said: list[Any]) -> None:
    ledger: tuple[Entry, ...] = ()
    for iteration, changes in enumerate(said):
        grown = applied(ledger, changes, iteration)
        assert [e.id for e in grown][: len(ledger)] == [e.id for e in ledger]
        assert applied(grown, changes, iteration) == grown
        assert all(e.iteration <= iteration for e in grown)
        assert all(t > e.iteration for e in grown for t in e.supported)
        ledger = grown
