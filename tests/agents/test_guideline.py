import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.agents.guideline import MOST_STRATEGIES, parse
from tmas_graph.models.replies import Reply
from tmas_graph.state import Strategy

PIECES = ["- ", "NAME", "NONE", ":", " – ", "*", "1. ", "\n", "\\", " ", "x", "[", "_"]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


@pytest.mark.parametrize("case", cases("strategies"), ids=lambda case: case["line"][:40])
def test_a_line_is_a_strategy_or_nothing(case: dict[str, str]) -> None:
    name = case["name"]
    expected = () if name is None else (Strategy(name, case["essence"], (3,)),)
    assert parse(Reply(case["line"]), 3) == expected


def test_the_last_line_of_a_cut_reply_is_dropped() -> None:
    text = "- Induction: fails\n- Descent: wor"
    assert len(parse(Reply(text), 0)) == 2
    [kept] = parse(Reply(text, finish_reason="length"), 0)
    assert kept.name == "Induction"


def test_only_the_first_strategies_are_taken() -> None:
    text = "\n".join(f"- way {i}: x" for i in range(MOST_STRATEGIES + 5))
    assert [s.name for s in parse(Reply(text), 0)] == [f"way {i}" for i in range(MOST_STRATEGIES)]


@given(texts)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_gives_strategies_that_stand_in_it(text: str) -> None:
    for strategy in parse(Reply(text), 1):
        assert strategy.name in text
        assert strategy.essence in text
        assert strategy.iterations == (1,)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["- ", "*_", " ", "a - ", "a : ", "NAME:", "**"])
def test_a_reply_that_repeats_itself_is_read_in_no_time(piece: str) -> None:
    assert parse(Reply("- " + piece * (300_000 // len(piece)) + "x"), 0) == ()
