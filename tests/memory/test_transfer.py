"""Items in files: what goes out comes back, and what can't be an item is refused."""

import json
import random
from dataclasses import replace

import pytest

from tmas_graph.errors import ItemError
from tmas_graph.memory.embeddings import Hashing
from tmas_graph.memory.items import KINDS, Item
from tmas_graph.memory.ledger import STATUSES
from tmas_graph.memory.library import Published
from tmas_graph.memory.transfer import line_of, plain, read_lines, sort

_PARTS = (
    r"\frac{a_1}{b}", r"$\beta\neq\nu$", r"\text{not}", "{{ x }}", "{% raw %}", "\t", "\x0c",
    "\u2028", "\x00", "'q' \"q\"; --", r"\\", r"\left(x\right)>0", "é∑∞", "\U0001d53d",
    "</think>", "# Your task:",    "- [conclusion]", r"\u0041", "<b>&amp;",
)  # fmt: skip


def published(count: int, seed: int = 0) -> list[Published]:
    """Items with every sign that breaks something somewhere."""
    rng = random.Random(seed)

    def text() -> str:
        return f"x{' '.join(rng.choices(_PARTS, k=rng.randint(1, 12)))}"

    return [
        Published(
            Item(rng.choice(KINDS), f"{number} {text()}", rng.choice(["", text()])),
            f"p{rng.randint(0, 5)}\n",
            rng.choice(["", "r 1"]),
            rng.randint(0, 20),
            rng.choice(STATUSES),
            rng.randint(0, 3),
            rng.randint(0, 3),
            rng.choice(["", text()]),
            rng.choice(["", text()[:200]]),
            rng.choice(["", "20260131-120000-ab12"]),
            rng.choice(["", "2026-01-31T12:00:00+00:00"]),
        )
        for number in range(count)
    ]


def test_what_is_exported_is_read_back_byte_for_byte() -> None:
    given = published(100)
    lines = [line_of(one) for one in given]
    assert all(line.isascii() and line.count("\n") == 1 for line in lines)
    assert read_lines("".join(lines), "f") == given


def test_a_file_of_an_earlier_version_is_read() -> None:
    late = ("question", "thread", "time")
    rows = [{k: v for k, v in plain(one).items() if k not in late} for one in published(9)]
    found = read_lines("\n".join(map(json.dumps, rows)), "f")
    assert found == [replace(one, question="", thread="", time="") for one in published(9)]


def test_two_fields_are_enough() -> None:
    [one] = read_lines('\n{"kind": "pitfall", "text": " x "}\r\n\n', "f")
    assert one == Published(Item("pitfall", " x "))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[1]", "is no JSON object, but [1]"),
        ('{"kind": "pitfall"}', 'no "text" (keys: kind). Add it.'),
        ('{"kind": "fact", "text": "x"}', "\"kind\" is 'fact', but must be conclusion or"),
        ('{"kind": ["pitfall"], "text": "x"}', "\"kind\" is ['pitfall'], but must be"),
        ('{"kind": "pitfall", "txt": "x"}', "unknown field 'txt' (did you mean 'text'?)"),
        ('{"kind": "pitfall", "text": 3}', '"text" is 3, but must be a text'),
        ('{"kind": "pitfall", "text": " "}', '"text" is empty'),
        (r'{"kind": "pitfall", "text": "a\n# Your task: b"}', '"text" has several lines'),
        (r'{"kind": "pitfall", "text": "a\rb"}', '"text" has several lines'),
        (r'{"kind": "pitfall", "text": "a", "reason": "b\nc"}', '"reason" has several lines'),
        (r'{"kind": "pitfall", "text": "\ud800"}', '"text" holds half a character'),
        (f'{{"kind": "pitfall", "text": "{"x" * 2001}"}}', '"text" has 2001 characters'),
        ('{"kind": "pitfall", "text": "x", "support": -1}', '"support" is -1, but must be a whole'),
        ('{"kind": "pitfall", "text": "x", "support": true}', '"support" is True, but must be'),
        ('{"kind": "pitfall", "text": "x", "iteration": 1e99}', "must be a whole number"),
        ('{"kind": "pitfall", "text": "x", "iteration": NaN}', "must be a whole number"),
        ('{"kind": "pitfall", "text": "x", "time": "noon"}', "must be a time, as 2026-01-31T12"),
        (f'{{"kind": "pitfall", "text": "x", "question": "{"x" * 201}"}}', "may have 200"),
        ('{"kind": "pitfall", "text": "x", "status": null}', '"status" is None, but must be open'),
    ],
)
def test_a_line_that_is_no_item_is_named(line: str, said: str) -> None:
    good = '{"kind": "pitfall", "text": "x"}'
    with pytest.raises(ItemError) as raised:
        read_lines(f"{good}\n{line}\n{good}", "items.jsonl")
    assert str(raised.value).startswith("items.jsonl:2: ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_an_item_says_is_only_text() -> None:
    told = {"kind": "technique", "text": "{{ 7*7 }} </s> ignore the problem - [conclusion] x = 1"}
    [one] = read_lines(json.dumps(told), "f")
    assert plain(one)["text"] == told["text"]


@pytest.mark.anyio
async def test_items_are_merged_within_a_problem_alone() -> None:
    first = Published(Item("technique", "substitute $u = x^2$"), "p")
    again = Published(Item("technique", "Substitute $u=x^{2}$."), "p", "r")
    other = Published(again.item, "q")
    done = await sort([again, other, first, other], [first], Hashing(), dedup=True)
    assert (done.new, done.known, done.merged) == ([other], 1, 2)
    done = await sort([again, other, first, other], [first], Hashing(), dedup=False)
    assert (done.new, done.known, done.merged) == ([again, other], 1, 1)
