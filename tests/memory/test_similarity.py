import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.similarity import same_statement

WORDS = ("x", "y", "n", "3", "4", "=", "<", "not", "even", "odd", "the", "sum", "of", "is")
words = st.lists(st.sampled_from(WORDS)).map(" ".join)


@pytest.mark.parametrize("case", cases("statements"), ids=lambda case: case["one"][:40])
def test_statements_merge_if_they_differ_in_wording_only(case: dict[str, str]) -> None:
    assert same_statement(case["one"], case["other"]) is case["same"]
    assert same_statement(case["other"], case["one"]) is case["same"]


@given(words, words)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_the_order_of_two_statements_does_not_matter(one: str, other: str) -> None:
    assert same_statement(one, other) == same_statement(other, one)


@given(st.text())
@settings(max_examples=100, derandomize=True, deadline=None)
def test_every_statement_is_itself_however_it_is_spaced(text: str) -> None:
    assert same_statement(text, text)
    assert same_statement(text, f"  {text} .")


@given(words, st.integers(0, 99), st.integers(100, 199))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_another_number_is_another_statement(text: str, one: int, other: int) -> None:
    assert not same_statement(f"{text} {one}", f"{text} {other}")
