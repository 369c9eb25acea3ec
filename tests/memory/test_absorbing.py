"""An item that says more takes the place of the known one; a refuted one doesn't come back."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Changes, Entry, applied, hidden, united


def fact(text: str, conditions: str = "") -> Item:
    return Item("conclusion", text, conditions)


A, B, C = (fact(f"T({n}) = {n + 1}") for n in (2, 3, 4))
AB, ABC = fact("T(2) = 3 and T(3) = 4"), fact("T(2) = 3, T(3) = 4 and T(4) = 5")
ALL = {item.id: item for item in (A, B, C, AB, ABC)}
Ledger = tuple[Entry, ...]


def said(ledger: Ledger, iteration: int, changes: Changes) -> Ledger:
    """The ledger after a reply, as the graph makes it."""
    gone = hidden(ledger)
    known = [ALL[e.id] for e in ledger if e.id not in gone]
    wrong = {e.id for e in ledger if e.status == "refuted"}
    return applied(ledger, united(changes, known, wrong), iteration)


def noted(*items: Item) -> Changes:
    return Changes(added=items)


def after(*replies: Changes) -> dict[str, Entry]:
    ledger: Ledger = ()
    for iteration, changes in enumerate(replies):
        ledger = said(ledger, iteration, changes)
    return {entry.id: entry for entry in ledger}


def shown(entries: dict[str, Entry]) -> list[Item]:
    return [ALL[id] for id in entries if id not in hidden(entries.values())]


def support(item: Item) -> Changes:
    return Changes(supported=(item.id,))


def refute(item: Item) -> Changes:
    return Changes(refuted={item.id: "no"})


def test_who_says_more_is_shown_instead_and_takes_over_what_spoke_for_the_other() -> None:
    ledger = after(noted(A), support(A), noted(AB))
    assert shown(ledger) == [AB]
    assert ledger[A.id] == Entry(A.id, 0, supported=(1,), absorbed_by=AB.id)
    assert ledger[AB.id] == Entry(AB.id, 2, supported=(0, 1))


def test_names_stay_as_rows_stay() -> None:
    assert list(after(noted(A, C), noted(AB), noted(B))) == [A.id, C.id, AB.id]


def test_one_can_absorb_several_and_be_absorbed_itself() -> None:
    ledger = after(noted(A), noted(C), noted(AB), noted(ABC))
    assert shown(ledger) == [ABC]
    assert ledger[ABC.id].supported == (0, 1, 2)


def test_what_was_absorbed_is_a_support_of_the_other_when_it_is_noted_again() -> None:
    ledger = after(noted(A), noted(AB), noted(fact("We have T(2) = 3.")))
    assert (shown(ledger), ledger[AB.id].supported) == ([AB], (0, 2))


def test_what_was_absorbed_is_shown_again_when_the_other_is_refuted() -> None:
    ledger = after(noted(A), noted(AB), refute(AB))
    assert shown(ledger) == [A, AB]
    assert (ledger[A.id].status, ledger[AB.id].status) == ("open", "refuted")
    ledger = after(noted(A), noted(AB), refute(AB), noted(A))
    assert (ledger[A.id].supported, ledger[AB.id].status) == ((3,), "refuted")


def test_a_correction_that_says_more_absorbs_and_refutes_nothing() -> None:
    ledger = after(noted(A), Changes(corrected={A.id: AB}))
    assert shown(ledger) == [AB]
    assert ledger[A.id].status == "open"


def test_other_conditions_or_another_kind_say_nothing_of_an_item() -> None:
    items = [fact("T(2) = 3 and T(3) = 4", "n > 1"), Item("technique", AB.text)]
    assert not united(noted(*items), [A]).absorbed


@pytest.mark.parametrize("again", [A, fact("We have T(2) = 3."), fact("3 = T(2)"), AB, ABC])
def test_a_refuted_item_does_not_come_back_in_other_or_more_words(again: Item) -> None:
    ledger = after(noted(A), refute(A), *[noted(again)] * 4)
    assert list(ledger) == [A.id]
    assert ledger[A.id] == Entry(A.id, 0, contradicted=(1,), reason="no")


@pytest.mark.parametrize("more", [A, AB])
def test_who_refutes_an_item_does_not_note_it_in_the_same_reply(more: Item) -> None:
    both = Changes(added=(more,), refuted={A.id: "no"})
    assert [e.status for e in after(noted(A), both).values()] == ["refuted"]


def test_a_corrected_item_stays_corrected_however_often_it_is_noted() -> None:
    ledger = after(noted(A), Changes(corrected={A.id: C}), noted(A), noted(A), noted(A))
    assert (ledger[A.id].status, ledger[A.id].corrected_by) == ("refuted", C.id)
    ledger = after(noted(A), Changes(corrected={A.id: C}, added=(AB,)))
    assert list(ledger) == [A.id, C.id]


def test_only_who_names_a_refuted_item_can_take_the_refutation_back() -> None:
    ledger = after(noted(A), refute(A), support(A), support(A))
    assert ledger[A.id].status == "open"


replies = st.builds(
    Changes,
    added=st.lists(st.sampled_from([*ALL.values()]), max_size=2).map(tuple),
    supported=st.lists(st.sampled_from([*ALL]), max_size=2).map(tuple),
    refuted=st.dictionaries(st.sampled_from([*ALL]), st.just("r"), max_size=1),
    corrected=st.dictionaries(
        st.sampled_from([*ALL]), st.sampled_from([*ALL.values()]), max_size=1
    ),
)


@given(st.lists(replies, max_size=7))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_a_ledger_only_grows_and_twice_is_once(told: list[Changes]) -> None:
    ledger: Ledger = ()
    for iteration, changes in enumerate(told):
        gone, before = hidden(ledger), ledger
        known = [ALL[e.id] for e in ledger if e.id not in gone]
        wrong = {e.id for e in ledger if e.status == "refuted"}
        one = united(changes, known, wrong)
        ledger = applied(before, one, iteration)
        assert applied(ledger, one, iteration) == ledger
        assert [e.id for e in ledger][: len(before)] == [e.id for e in before]
        if any(e.status != "refuted" for e in ledger):
            assert set(hidden(ledger)) < {e.id for e in ledger}, "something is always shown"


def test_16_new_items_are_compared_with_300_known_ones_fast_enough_to_be_no_matter() -> None:
    """Counted, not timed: no text is embedded unless the guards found nothing that differs."""
    rng = random.Random(0)
    words = [f"w{n}" for n in range(400)]
    texts = [f"{' '.join(rng.sample(words, 8))} = {n}" for n in range(316)]
    items = [fact(text) for text in texts]
    embedded: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        embedded.extend(texts)
        return [[1.0]] * len(texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tmas_graph.memory.merging.embed", embed)
        assert united(noted(*items[300:]), items[:300]).items == tuple(items[300:])
    assert not embedded
