import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.models.replies import Reply, split_thinking, total
from tmas_graph.usage import Usage


@pytest.mark.parametrize(
    ("text", "thinking", "rest"),
    [
        ("<think>a</think>\n\nb", "a", "b"),
        ("a</think>b", "a", "b"),
        ("\n <think>a\nb</think>", "a\nb", ""),
        ("<think>a", "a", ""),
        ("b", "", "b"),
        ("", "", ""),
        ("b with < and > and <think>", "", "b with < and > and <think>"),
        ("  b stays  ", "", "  b stays  "),
    ],
)
def test_thinking_is_split_off(text: str, thinking: str, rest: str) -> None:
    assert split_thinking(text) == (thinking, rest)


PIECES = ["<think>", "</think>", "a", " ", "\n", "\\boxed{1}"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_no_thinking_is_left_in_the_rest(text: str) -> None:
    _, rest = split_thinking(text)
    assert "</think>" not in rest
    assert not rest.lstrip().startswith("<think>")
    assert split_thinking(rest) == ("", rest)


@pytest.mark.parametrize(
    ("reply", "whole"),
    [
        (Reply("x"), True),
        (Reply("x", finish_reason="eos"), True),
        (Reply("x", finish_reason="length"), False),
        (Reply("x", finish_reason="content_filter"), False),
        (Reply(" \n"), False),
        (Reply("", "thought"), False),
    ],
)
def test_a_reply_is_whole_if_it_ends_and_says_something(reply: Reply, whole: bool) -> None:
    assert reply.whole is whole


def test_the_total_is_what_all_requests_cost() -> None:
    assert total([Reply("a", usage=Usage(1, 2, 3, 4)), Reply("b"), Reply("c")]) == Usage(1, 2, 3, 4)
    assert total([]) == Usage()
