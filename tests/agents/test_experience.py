import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.agents.experience import MOST_ITEMS, parse
from tmas_graph.memory.experience_bank import Item
from tmas_graph.models.replies import Reply

PIECES = ["- ", "[", "]", "conclusion", "Pitfall", ":", "*", "1. ", "\n", "\\", " ", "x", "(", ")"]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


@pytest.mark.parametrize("case", cases("items"), ids=lambda case: case["line"][:40])
def test_a_line_is_an_item_byte_for_byte_or_nothing(case: dict[str, str]) -> None:
    expected = () if case["kind"] is None else (Item(case["kind"], case["text"]),)  # type: ignore[arg-type]
    assert parse(Reply(case["line"])) == expected


def test_prose_around_the_items_is_left_out() -> None:
    text = "Here is what I found:\n\n- [conclusion] a\nsome words\n- [pitfall] b\n\nThat is all."
    assert parse(Reply(text)) == (Item("conclusion", "a"), Item("pitfall", "b"))


def test_the_last_line_of_a_cut_reply_is_dropped() -> None:
    text = "- [conclusion] a\n- [conclusion] n is no"
    assert len(parse(Reply(text))) == 2
    assert parse(Reply(text, finish_reason="length")) == (Item("conclusion", "a"),)


def test_a_line_that_came_whole_before_the_cut_is_kept() -> None:
    reply = Reply("- [conclusion] a\n", finish_reason="length")
    assert parse(reply) == (Item("conclusion", "a"),)


def test_a_repeated_item_counts_once_and_only_the_first_items_are_taken() -> None:
    lines = ["- [pitfall] 0", *(f"- [pitfall] {i}" for i in range(MOST_ITEMS + 5))]
    assert [i.text for i in parse(Reply("\n".join(lines)))] == [str(i) for i in range(MOST_ITEMS)]


@given(texts)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_gives_items_that_stand_in_it(text: str) -> None:
    assert all(item.text in text and item.text.strip() for item in parse(Reply(text)))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["[conclusion] ", "- ", "*_", " ", "conclusion :"])
def test_a_reply_that_repeats_itself_is_read_in_no_time(piece: str) -> None:
    assert parse(Reply("- [conclusion] " + piece * (300_000 // len(piece)) + "x" * 2001)) == ()
