import pytest

from tmas_graph.grpo.hacks import final_text, is_copied, is_hedged, names_without_use


@pytest.mark.parametrize(
    ("text", "hedged"),
    [
        (r"\boxed{1}", False),
        (r"no box", False),
        (r"First \boxed{1}, so in the end \boxed{ 1 }.", False),
        (r"The roots are $\boxed{1}$, $\boxed{2}$ and $\boxed{3}$.", False),
        (r"\boxed{\frac{1}{2}} as said: \boxed{\frac{1} {2}}", False),
        (r"Maybe \boxed{1}. Maybe not: \boxed{2}.", True),
        (r"\boxed{2} it is. No, \boxed{1}. Finally \boxed{2}", True),
        (r"\fbox{1} perhaps; else \boxed{2}", True),
        (r"Perhaps \boxed{1}, perhaps \boxed{2", False),
        (r"\boxed{} is empty, \boxed{2} isn't", False),
    ],
)
def test_different_boxes_in_different_places_are_guesses(text: str, hedged: bool) -> None:
    assert is_hedged(text) is hedged


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("a", "a"),
        ("<think>a</think> b ", "b"),
        ("a </think> b", "b"),
        ("<think>a", ""),
        ("<think>a</think>", ""),
    ],
)
def test_the_final_text_is_what_follows_the_thinking(text: str, final: str) -> None:
    assert final_text(text) == final


ITEM = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        (ITEM, True),
        ("One, two, three; FOUR five six seven eight nine ten!", True),
        (ITEM + " and then it is eleven, so that the answer is eleven", False),
        ("one two three four five six seven and the rest", False),
        ("", False),
    ],
)
def test_a_copy_is_eight_words_in_a_row_that_make_up_half(text: str, copied: bool) -> None:
    assert is_copied(text, ["something else", ITEM], 0.5) is copied
    assert not is_copied(text, [], 0.5)


USED = (
    "Strategy: generating functions\nThe generating function of the sequence is 1/(1-x)^2, whose "
    "coefficients are n + 1. So the answer is 11."
)


@pytest.mark.parametrize(
    ("text", "unused"),
    [
        (USED, False),
        ("Strategy: generating functions\nAdding all ten numbers gives 55.", True),
        (USED + "\n**Approach**: projective duality\nDone.", True),
        ("Adding all ten numbers gives 55.", False),
        ("Strategy:\nAdding all ten numbers gives 55.", True),
    ],
)
def test_a_strategy_must_leave_a_trace_to_count_as_used(text: str, unused: bool) -> None:
    assert names_without_use(text) is unused
