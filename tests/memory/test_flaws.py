import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.flaws import LONGEST, MOST, findings, flaws, sentences


@pytest.mark.parametrize(
    ("summary", "named"),
    [
        ("Step 1 holds. Step 2 is wrong: 3.5 > 4 fails.", ["Step 2 is wrong: 3.5 > 4 fails."]),
        ("All is fine; the case n = 0 is missing.\nOK.", ["the case n = 0 is missing."]),
        ("No error was found. The sum is unjustified!", ["The sum is unjustified!"]),
        ("第一步成立。第二步错了。", ["第二步错了。"]),
        ("Schritt 1 stimmt. Schritt 2 ist falsch.", ["Schritt 2 ist falsch."]),
        ("It doesn't follow that x = 1. Steps 1-3 hold.", ["It doesn't follow that x = 1."]),
    ],
)
def test_the_sentences_that_name_what_is_wrong_are_asked_for(
    summary: str, named: list[str]
) -> None:
    assert flaws([summary]) == named


@pytest.mark.parametrize("summary", ["Step 1 holds. Step 2 holds.", "Todo bien. Nada más.", "x"])
def test_a_summary_that_names_no_flaw_is_asked_for_as_a_whole(summary: str) -> None:
    assert flaws([summary]) == [summary]


def test_what_is_confirmed_can_be_judged_too() -> None:
    summaries = ["Step 1 holds. Step 2 is wrong.", "Step 1 holds.", ""]
    assert findings(summaries) == ["Step 1 holds.", "Step 2 is wrong."]
    assert flaws([""]) == []


@given(st.lists(st.text(max_size=60), max_size=4))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_can_be_read(summaries: list[str]) -> None:
    for found in (flaws(summaries), findings(summaries)):
        assert len(found) == len(set(found))
        assert all(text.strip() for text in found)


def test_what_is_asked_for_is_bounded() -> None:
    assert len(flaws([f"{n} is wrong." for n in range(3 * MOST)])) == MOST
    assert all(len(text) <= LONGEST for text in [*flaws(["x " * 5000]), *sentences("y" * 5000)])
