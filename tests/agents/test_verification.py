import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.agents.verification import parse, parsed, score_of
from tmas_graph.models.replies import Reply
from tmas_graph.state import Verification

PIECES = ["\\boxed{", "}", "{", "\\", "1", "0.5", "Score:", " is ", "\n", "answer ", "$", "."]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


@pytest.mark.parametrize("case", cases("scores"), ids=lambda case: case["text"][-40:])
def test_the_score_is_what_the_reply_ends_in(case: dict[str, object]) -> None:
    assert score_of(str(case["text"])) == case["score"]


@pytest.mark.parametrize("reason", ["length", "content_filter", "abort"])
def test_a_cut_reply_has_neither_score_nor_analysis(reason: str) -> None:
    reply = Reply("It holds. \\boxed{1}", finish_reason=reason)
    assert parse(reply) == Verification("", None)


def test_an_unreadable_reply_keeps_its_analysis() -> None:
    assert parse(Reply("It holds.")) == Verification("It holds.", None)


def test_each_pass_is_one_verification_and_a_missing_one_has_no_score() -> None:
    replies = [Reply("\\boxed{1}"), Reply("no box"), Reply("\\boxed{0}")]
    assert [v.score for v in parsed(replies, 4)] == [1.0, None, 0.0, None]
    assert [v.score for v in parsed(replies, 2)] == [1.0, None]


@given(texts)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_has_a_score_or_none(text: str) -> None:
    assert score_of(text) in (None, 0.0, 0.5, 1.0)


@given(texts, st.sampled_from(["1", "0.5", "0"]))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_whatever_stands_before_a_score_line_of_its_own_is_not_read(text: str, score: str) -> None:
    assert score_of(f"{text}\n\nScore: {score}") == float(score)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["\\boxed{", "{", "score is ", "a. ", "*_", " "])
def test_a_reply_that_repeats_itself_is_read_in_no_time(piece: str) -> None:
    assert score_of(piece * (300_000 // len(piece))) is None
