from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.dedup import BY_MEANING
from tmas_graph.memory.items import Item
from tmas_graph.memory.merging import new_items


def test_the_conditions_are_part_of_an_items_identity() -> None:
    bare, odd, even = (Item("conclusion", "x", given) for given in ("", "n odd", "n even"))
    assert len({bare.id, odd.id, even.id}) == 3
    assert new_items([bare, odd, even, odd], []) == [bare, odd, even]


def test_only_what_is_new_stays() -> None:
    known = [Item("conclusion", "T(2) = 3 holds for all n")]
    items = [
        Item("conclusion", "T(2)=3 holds for all n."),
        Item("conclusion", "T(2) = 4 holds for all n"),
        Item("conclusion", "T(2) = 4 holds for all n."),
        Item("pitfall", "T(2) = 3 holds for all n"),
    ]
    assert new_items(items, known) == [items[1], items[3]]


def test_the_fuller_of_two_new_items_stays() -> None:
    short = Item("conclusion", "T(2) = 3")
    long = Item("conclusion", "T(2) = 3 and T(3) = 7")
    assert new_items([short, long], []) == [long]
    assert new_items([long, short], []) == [long]
    assert new_items([short], [long]) == []
    assert new_items([long], [short]) == [long]


def test_vectors_of_another_embedder_can_be_given() -> None:
    one, other = Item("conclusion", "p divides q"), Item("conclusion", "q is divisible by p")
    vectors = {one.text: [1.0, 0.0], other.text: [0.0, 1.0]}
    assert new_items([other], [one]) == []
    assert new_items([other], [one], vectors=vectors) == [other]


@given(st.lists(st.builds(Item, st.sampled_from(["conclusion", "pitfall"]), st.text(max_size=8))))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_new_items_are_new_once(items: list[Item]) -> None:
    fresh = new_items(items, [])
    assert new_items(items, fresh) == []
    assert new_items(fresh, []) == fresh


def test_an_embedder_that_knows_meaning_unites_what_shares_few_words() -> None:
    one = Item("conclusion", "Count the pairs in two ways")
    other = Item("conclusion", "The pairs can be counted in two different ways")
    near, far = {one.text: [1.0, 0.0], other.text: [0.9, 0.19**0.5]}, {one.text: [1.0, 0.0]}
    far[other.text] = [0.0, 1.0]
    assert new_items([other], [one], vectors=near) == [other]
    assert new_items([other], [one], vectors=near, thresholds=BY_MEANING) == []
    assert new_items([other], [one], vectors=far, thresholds=BY_MEANING) == [other]
