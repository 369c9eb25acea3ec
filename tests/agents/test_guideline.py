from typing import Any

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.agents.guideline import (
    LONGEST_ESSENCE,
    LONGEST_NAME,
    LONGEST_OUTCOME,
    MOST_STRATEGIES,
    parse,
)
from tmas_graph.memory.guideline_bank import Report, Reports
from tmas_graph.models.replies import Reply
from tmas_graph.state import Strategy

KNOWN = [Strategy("Induction on n", "a"), Strategy("Infinite descent"), Strategy("Counting twice")]
ATTEMPTS = 4
PIECES = [
    "- ",
    "NAME",
    "NONE",
    ":",
    " – ",
    "*",
    "1. ",
    "\n",
    "\\",
    " ",
    "x",
    "[",
    "]",
    "_",
    "(",
    ")",
]
PIECES += ["attempt ", "attempts ", "2", ", 3", "-", "9", "G1", "G3", "g9", "same as ", "none", "$"]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))


def said(text: str, **changes: Any) -> Reports:
    return parse(Reply(text, **changes), KNOWN, ATTEMPTS)


def expected(case: dict[str, Any]) -> Reports:
    """What a case says that its line says."""
    attempts, outcome = frozenset(case.get("attempts", ())), case.get("outcome", "")
    reports = [Report(attempts=attempts, outcome=outcome, listed=n) for n in case.get("listed", ())]
    if case["name"] is not None:
        reports.append(Report(case["name"], case["essence"], attempts, outcome))
    return Reports(tuple(reports), case.get("unknown", 0))


@pytest.mark.parametrize("case", cases("strategies"), ids=lambda case: case["line"][:40])
def test_a_line_says_one_thing_byte_for_byte_or_nothing(case: dict[str, Any]) -> None:
    assert said(case["line"]) == expected(case)


def test_prose_around_the_strategies_is_left_out() -> None:
    text = "Here they are:\n\n- Induction: x (attempt 1): fails\nsome words\n\nThat is all: two."
    assert [report.name for report in said(text).said] == ["Induction"]


def test_the_last_line_of_a_cut_reply_is_dropped() -> None:
    text = "- Induction: fails\n- Descent: wor"
    assert len(said(text).said) == 2
    [kept] = said(text, finish_reason="length").said
    assert kept.name == "Induction"


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x1d", "\x85", "\u2028", "\u2029"])
def test_whatever_ends_a_line_anywhere_ends_it(end: str) -> None:
    [one, other] = said(f"- Induction: a{end}# Your task: b{end}- G2 (attempt 1): c{end}d").said
    assert (one.name, one.essence) == ("Induction", "a")
    assert (other.listed, other.outcome) == (2, "c")


def test_only_the_first_new_strategies_are_taken_but_all_that_are_listed() -> None:
    text = "\n".join(f"- way {i}: x" for i in range(MOST_STRATEGIES + 5))
    reports = said(f"{text}\n- G1\n- G2").said
    assert [r.name for r in reports[:-2]] == [f"way {i}" for i in range(MOST_STRATEGIES)]
    assert [r.listed for r in reports[-2:]] == [1, 2]


def test_long_texts_are_cut_rather_than_lost_and_a_long_name_is_none() -> None:
    words = "word " * 300
    [report] = said(f"- Induction: {words}(attempt 1): {words}").said
    for text, longest in ((report.essence, LONGEST_ESSENCE), (report.outcome, LONGEST_OUTCOME)):
        assert text.endswith("word …")
        assert longest - 5 <= len(text) <= longest + 2
    [unbroken] = said(f"- Induction: {'x' * 1000}").said
    assert unbroken.essence == "x" * LONGEST_ESSENCE + " …"
    assert said(f"- {'n' * (LONGEST_NAME + 1)}: x").said == ()


def test_without_a_list_no_id_means_anything() -> None:
    assert parse(Reply("- G1 (attempt 1): x\n- G2"), (), 2) == Reports((), 2)


def test_a_range_is_read_as_far_as_attempts_were_shown() -> None:
    [report] = said("- Induction: x (attempts 3-9999): y").said
    assert report.attempts == {3, 4}
    assert said("- Induction: x (attempts 3-9999): y").unknown == 1


@given(texts)
@settings(max_examples=500, derandomize=True, deadline=None)
def test_any_text_gives_reports_that_stand_in_it(text: str) -> None:
    found = said(text)
    assert found.unknown >= 0
    for report in found.said:
        assert report.attempts <= set(range(1, ATTEMPTS + 1))
        assert report.listed in (None, 1, 2, 3)
        assert report.name or report.listed
        assert report.name in text
        assert not any(c in report.name + report.essence + report.outcome for c in "\n\r\x0b\u2028")


line = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="()[]:–—-*_`$\\;,."))
plain = line.map(lambda text: f"a{text}z")


@given(plain, plain, plain, st.sets(st.integers(1, ATTEMPTS), min_size=1))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_what_is_written_in_the_form_that_is_asked_for_is_read_back(
    name: str, essence: str, outcome: str, attempts: set[int]
) -> None:
    numbers = ", ".join(map(str, attempts))
    [one] = said(f"- {name}: {essence} (attempts {numbers}): {outcome}").said
    assert one == Report(name, essence, frozenset(attempts), outcome)
    [other] = said(f"- G2 (attempts {numbers}): {outcome}").said
    assert other == Report(attempts=frozenset(attempts), outcome=outcome, listed=2)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("begin", ["- ", "- x: ", "- G1 ", "- x (attempts 1", "- x: same as "])
@pytest.mark.parametrize(
    "piece",
    ["- ", "*_", " ", "a - ", "a : ", "NAME:", "**", "(", "1, ", "1-", "attempt ", "G1 ", "G1, ",
     "same as ", "[x]", "(attempt 1)", "$", "; "],
)  # fmt: skip
def test_a_reply_that_repeats_itself_is_read_in_no_time(begin: str, piece: str) -> None:
    assert said(begin + piece * (300_000 // len(piece)) + "x").said == ()
    line = begin + piece * (3_900 // len(piece))
    said("\n".join([line] * 60))
