"""Which items of other problems a prompt is lent."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tmas_graph.memory.borrowing import (
    Borrowed,
    Learned,
    borrowed_of,
    chosen,
    exchange,
    is_of_use,
    lent_tokens,
    others,
    rows_of,
)
from tmas_graph.memory.chroma import Store, Where
from tmas_graph.memory.embeddings import Hashing
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import CORRECTED, Entry
from tmas_graph.memory.library import COLLECTION, Found, Library, Origin, Published, library_of
from tmas_graph.memory_settings import Memories
from tmas_graph.state import Problem

pytestmark = pytest.mark.anyio
STEP = Published(Item("technique", "substitute $u = x^2$"), "p")
TRAP = Published(Item("pitfall", "forgetting the case x = 0"), "p")
FACT = Published(Item("conclusion", "x = 0 is a root"), "p")
WHY = {"status": "refuted", "reason": "it doubles the degree"}


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    library = Library(Store(Where(str(tmp_path / "memory"))), Hashing())
    yield library
    await library.store.close()


def found(*published: Published, distance: float = 0.5) -> list[Found]:
    return [Found(one, distance) for one in published]


async def shown(library: Library, *given: Found, known: Any = (), tokens: int = 1000) -> list[str]:
    return [one.text for one in await chosen(library, list(given), known, tokens)]


@pytest.mark.parametrize(
    ("one", "useful"),
    [
        (STEP, True),
        (TRAP, True),
        (FACT, False),
        (replace(STEP, **WHY), True),
        (replace(STEP, status="refuted"), False),
        (replace(STEP, status="refuted", reason=CORRECTED), False),
        (replace(TRAP, **WHY), False),
        (replace(FACT, **WHY), False),
        (replace(FACT, status="supported", support=9), False),
    ],
)
async def test_results_and_what_warns_of_nothing_are_of_no_use(
    one: Published, useful: bool
) -> None:
    assert is_of_use(one) is useful


async def test_the_nearest_come_first_then_the_best_supported_then_what_failed(
    library: Library,
) -> None:
    far = Found(Published(Item("technique", "count in two ways"), "p", support=9), 0.9)
    near = Found(Published(Item("technique", "draw a table of values"), "p"), 0.51)
    good = Found(Published(Item("technique", "use symmetry"), "q", support=2), 0.53)
    failed = Found(replace(STEP, **WHY), 0.1)
    expected = ["use symmetry", "draw a table of values", "count in two ways", STEP.item.text]
    assert await shown(library, far, failed, near, good) == expected
    assert await shown(library, good, near, failed, far) == expected


async def test_what_is_said_already_isnt_said_again(library: Library) -> None:
    again = Published(Item("technique", "Substitute $u=x^{2}$."), "q")
    assert await shown(library, *found(STEP, again)) == [STEP.item.text]
    assert await shown(library, *found(STEP), known=[again.item]) == []
    failed = replace(again, **WHY)
    assert await shown(library, *found(failed, STEP)) == [STEP.item.text]


async def test_one_that_is_too_long_makes_way_for_a_shorter_one(library: Library) -> None:
    long = Found(Published(Item("technique", "try every residue class " * 20), "p"), 0.1)
    assert await shown(library, long, *found(STEP), tokens=20) == [STEP.item.text]
    assert await shown(library, long, *found(STEP), tokens=1) == []


async def test_whoever_wrote_it_a_text_is_lent_on_one_line(library: Library) -> None:
    broken = Published(
        Item("technique", "a\n# Your task: b\r\nc\u2028d\x85e", "f\ng\x1b]0;h\x07\x00\ti"),
        "p",
        status="refuted",
        reason="h\n- [conclusion] i",
    )
    [one] = await chosen(library, found(broken), [], 1000)
    assert one.text == "a # Your task: b c d e"
    assert (one.conditions, one.reason) == ("f g ]0;h  \ti", "h - [conclusion] i")


async def test_what_is_lent_survives_a_checkpoint() -> None:
    lent = (Borrowed.of(STEP), Borrowed.of(replace(TRAP, status="supported")))
    assert borrowed_of([list(row) for row in rows_of(lent)]) == lent


async def test_only_what_changed_is_published() -> None:
    items = [Item("technique", text) for text in "abc"]
    before = [Entry(items[0].id, 0), Entry(items[1].id, 0)]
    after = [before[0], replace(before[1], supported=(1,)), Entry(items[2].id, 1), Entry("gone", 1)]
    learned = Learned(before, after, items)
    assert learned.changed() == [(items[1], after[1]), (items[2], after[2])]


async def test_the_scope_says_whose_items_are_lent() -> None:
    run = Memories(memory_scope="run", run_name="r")
    assert others(run, "p").equal == {"run": "r"}
    assert others(Memories(memory_scope="library"), "p").equal == {}
    assert others(run, "p").unequal == {"problem": "p", "kind": "conclusion"}
    assert lent_tokens(Memories(experience_tokens=400)) == 100


async def test_a_repeated_exchange_publishes_and_lends_the_same(tmp_path: Path) -> None:
    given = Memories(memory_scope="library", memory_folder=str(tmp_path / "m"), run_name="r")
    library, problem = library_of(given), Problem("Solve $x^4 - x^2 = 0$.", id="mine")
    await library.write([STEP, TRAP, FACT])
    item = Item("technique", "factor out $x^2$")
    learned = Learned([], [Entry(item.id, 0)], [item], "thread")
    first = await exchange(given, problem, ["x = 0 is missing"], learned)
    held = await library.find()
    assert await exchange(given, problem, ["x = 0 is missing"], learned) == first
    assert await library.find() == held
    assert {one.text for one in borrowed_of(first)} == {STEP.item.text, TRAP.item.text}
    said = {"question": problem.question, "thread": "thread", "time": held[-1].time}
    assert held[-1] == Published(item, "mine", "r", **said)  # type: ignore[arg-type]
    assert datetime.fromisoformat(held[-1].time).tzinfo == UTC
    await library.store.close()


async def test_what_is_published_again_keeps_its_time(tmp_path: Path) -> None:
    given = Memories(memory_scope="library", memory_folder=str(tmp_path / "m"))
    library, problem = library_of(given), Problem("Solve it.", id="mine")
    item, old = Item("technique", "factor"), "2020-01-31T12:00:00+00:00"
    await library.write([Published(item, "mine", time=old)])
    learned = Learned([], [Entry(item.id, 0)], [item])
    await exchange(given, problem, [], learned)
    [held] = await library.find()
    assert (held.time, held.question) == (old, "Solve it.")
    await library.store.close()


def test_a_long_question_is_kept_in_its_beginning_and_on_one_line() -> None:
    assert Origin.of(Problem("\udcff?")).question == r"\udcff?"
    assert Origin.of(Problem("What\n is\t" + "x" * 999)).question == f"What is {'x' * 192}"


async def test_two_problems_with_one_item_keep_where_it_is_from(library: Library) -> None:
    other = replace(STEP, problem="q", iteration=3)
    await library.write([STEP, other, replace(STEP, run="r")])
    await library.write([replace(other, support=1)])
    rows = await library.find()
    assert rows == [STEP, replace(other, support=1), replace(STEP, run="r")]
    assert len({one.id for one in rows}) == 3


@pytest.mark.parametrize("deleted", [False, True])
async def test_what_a_library_lost_is_published_again_but_not_what_was_deleted(
    tmp_path: Path, deleted: bool
) -> None:
    given = Memories(memory_scope="library", memory_folder=str(tmp_path / "m"), run_name="r")
    library, items = library_of(given), [STEP.item, TRAP.item]
    old, new = (Entry(item.id, 1) for item in items)
    async with library.store.held():
        await exchange(given, Problem("Q", id="q"), [], Learned((), (old,), items))
        [first] = await library.find()
        if deleted:
            await library.remove([first.id])
        else:
            await library.store.drop(COLLECTION)
        await exchange(given, Problem("Q", id="q"), [], Learned((old,), (old, new), items))
        assert {one.item for one in await library.find()} == set(items[1:] if deleted else items)
