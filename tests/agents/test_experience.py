import re
from typing import Any

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.agents.experience import LONGEST_REASON, MOST_ITEMS, parse
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Changes, Entry
from tmas_graph.memory.retrieval import Noted
from tmas_graph.models.replies import Reply

PIECES = ["- ", "[", "]", "conclusion", "Pitfall", ":", "*", "1. ", "\n", "\\", " ", "x", "(", ")"]
PIECES += [
    "\u2028",
    "(supported by 2)",
    "(refuted: ",
    "support",
    "Refute",
    "corrected",
    "is",
    "E1",
    "E3",
    "e9",
    ",",
    " and ",
    "(if: ",
    "because",
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join))
KNOWN = [Noted(Item("conclusion", f"fact {n}"), Entry(f"id-{n}", 0), n) for n in range(1, 6)]


def expected(case: dict[str, Any]) -> Changes:
    """What a case says that its line says; items are named by their numbers."""
    item = Item(case["kind"], case["text"], case.get("conditions", ""))
    return Changes(
        added=(item,) if case["kind"] else (),
        supported=tuple(f"id-{n}" for n in case.get("supported", ())),
        refuted={f"id-{n}": reason for n, reason in case.get("refuted", {}).items()},
        corrected={f"id-{n}": Item(*new) for n, new in case.get("corrected", {}).items()},
        unknown=case.get("unknown", 0),
    )


@pytest.mark.parametrize("case", cases("items"), ids=lambda case: case["line"][:40])
def test_a_line_says_one_thing_byte_for_byte_or_nothing(case: dict[str, Any]) -> None:
    assert parse(Reply(case["line"]), KNOWN) == expected(case)


def test_prose_around_the_items_is_left_out() -> None:
    text = "Here is what I found:\n\n- [conclusion] a\nsome words\n- [pitfall] b\n\nThat is all."
    assert parse(Reply(text)).added == (Item("conclusion", "a"), Item("pitfall", "b"))


def test_the_last_line_of_a_cut_reply_is_dropped() -> None:
    text = "- [conclusion] a\n- support E1\n- refute E2: n is no"
    assert parse(Reply(text), KNOWN).refuted == {"id-2": "n is no"}
    cut = parse(Reply(text, finish_reason="length"), KNOWN)
    assert cut == Changes(added=(Item("conclusion", "a"),), supported=("id-1",))


def test_a_line_that_came_whole_before_the_cut_is_kept() -> None:
    reply = Reply("- [conclusion] a\n", finish_reason="length")
    assert parse(reply).added == (Item("conclusion", "a"),)


def test_a_carriage_return_ends_a_line() -> None:
    reply = Reply("- [conclusion] a\r# Your task: b\r\n- refute E1: c\r# d")
    assert parse(reply, KNOWN) == Changes((Item("conclusion", "a"),), refuted={"id-1": "c"})


def test_a_repeated_item_counts_once_and_only_the_first_items_are_taken() -> None:
    lines = ["- [pitfall] 0", *(f"- [pitfall] {i}" for i in range(MOST_ITEMS + 5))]
    found = parse(Reply("\n".join(lines))).added
    assert [i.text for i in found] == [str(i) for i in range(MOST_ITEMS)]


def test_names_mean_the_items_that_were_shown_under_them() -> None:
    shown = [KNOWN[3], KNOWN[0]]
    found = parse(Reply("- support E1, E2\n- refute E4: x\n- E5 is supported"), shown)
    assert found == Changes(supported=("id-1",), refuted={"id-4": "x"}, unknown=2)


def test_what_is_said_first_about_an_item_stands() -> None:
    said = "- refute E1: a\n- refute E1: b\n- correct E2: [pitfall] a\n- correct E2: [pitfall] b"
    found = parse(Reply(f"{said}\n- support E3\n- support E3"), KNOWN)
    assert (found.refuted, found.supported) == ({"id-1": "a"}, ("id-3",))
    assert found.corrected == {"id-2": Item("pitfall", "a")}


@given(texts)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_any_text_gives_items_that_stand_in_it(text: str) -> None:
    found = parse(Reply(text), KNOWN)
    text = re.sub(f"[{CONTROLS}]", " ", text)
    assert all(i.text in text and i.conditions in text and i.text.strip() for i in found.items)
    assert not any(re.search(rf"[{CONTROLS}\n\r]", i.text + i.conditions) for i in found.items)
    assert {*found.supported, *found.refuted, *found.corrected} <= {k.entry.id for k in KNOWN}
    assert all(len(reason) <= LONGEST_REASON + 2 for reason in found.refuted.values())


CONTROLS = r"\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029"
ENDS = "\n\r\u2028\u2029"
plain = st.text(
    st.characters(exclude_characters=f"(){ENDS}", exclude_categories=["Cs", "Cc"]), max_size=20
)
balanced = st.recursive(
    plain, lambda part: st.tuples(plain, part, plain).map("{0[0]}({0[1]}){0[2]}".format)
).map(str.strip)


@given(text=balanced, conditions=balanced)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_an_item_is_read_back_as_it_is_shown(text: str, conditions: str) -> None:
    item = Item("technique", f"a{text}z", f"b{conditions}y")
    line = f"- [technique] {item.text} (if: {item.conditions})"
    assert parse(Reply(line)).added == (item,)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("begin", ["- [conclusion] ", "", "- support E1 ", "E1", "- refute E1: "])
@pytest.mark.parametrize(
    "piece",
    [
        "[conclusion] ",
        "- ",
        "*_",
        " ",
        "conclusion :",
        "E1 ",
        "E1, ",
        "E",
        "support ",
        "(if: ",
        ")",
    ],
)
def test_a_reply_that_repeats_itself_is_read_in_no_time(begin: str, piece: str) -> None:
    found = parse(Reply(begin + piece * (300_000 // len(piece)) + "x" * 2001), KNOWN)
    assert found.items == ()


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\x0c", "\x00", "\x1b", "\x07"])
def test_an_item_is_one_line_for_every_reader(end: str) -> None:
    line = f"- [conclusion] x = 1{end}- refute E1: no (if: n{end}is odd)"
    found = parse(Reply(line), KNOWN)
    assert found.added == (Item("conclusion", "x = 1 - refute E1: no", "n is odd"),)
    assert not found.refuted


def test_a_known_item_that_is_copied_with_its_history_is_the_known_one() -> None:
    lines = "- [conclusion] x = 1 (supported by 3)\n- [pitfall] y (if: z) (supported by 1)"
    expected = (Item("conclusion", "x = 1"), Item("pitfall", "y", "z"))
    assert parse(Reply(lines)).added == expected


@pytest.mark.parametrize("more", ["(refuted)", "(refuted: T(2) = 4)", "(refuted: no)."])
def test_a_refuted_item_that_is_copied_is_not_noted(more: str) -> None:
    assert parse(Reply(f"- [conclusion] x = 1 {more}")) == Changes()
