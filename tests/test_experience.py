"""Experience over a whole run: what is refuted, who is offered what, and what forks know."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tmas_graph import Problem, Settings, build_graph
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry, ledger_of
from tmas_graph.memory.opening import bank_of
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.running import follow

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

QUESTION = Problem("How many?")
CONFIG: Any = {"configurable": {"thread_id": "1"}}
TEXT = r"\(T_{2}=\frac{3}{4}\), $\beta\neq\nu$, \text{not} {{ x }} {% raw %} - [pitfall] E3"
GIVEN = r"\(n \ge 2\) and $f\left(x\right)>0$"
FACT = Item("conclusion", TEXT, GIVEN)
STEP = Item("technique", r"substitute $u=\tan\frac{x}{2}$")
LINE = f"- [conclusion] {TEXT} (if: {GIVEN})"
WHY = r"$T_2=\frac12$ for $n=3$"
SHORT = Reasoner().short()
OTHER_SEED = 7


def script(said: Mapping[tuple[int, int], str]) -> Any:
    """The Experience agent says what stands at its run's seed and iteration, else nothing new."""
    seeds = {
        seed_of(seed, Place(QUESTION.id, t, "experience")): (seed, t)
        for seed in (0, OTHER_SEED)
        for t in range(12)
    }

    def reply(request: Request, choice: int) -> ScriptedReply | str:
        if request.agent != "experience" or request.seed is None:
            return SHORT(request, choice)
        return said.get(seeds[request.seed], "NONE")

    return reply


def settings(at: ScriptedServer, folder: Path, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "candidates": 2,
        "verifications": 1,
        "iterations": 12,
        "epsilon": 0.0,
        "early_stop": False,
        "memory_folder": str(folder / "memory"),
    }
    return Settings(base_url=at.base_url, **{**given, **changes})


def exploiters(at: ScriptedServer, t: int) -> list[str]:
    """What the solvers of iteration `t` were asked, in the run with seed 0."""
    seeds = {seed_of(0, Place(QUESTION.id, t, "solution", i)) for i in range(2)}
    found = [r.text for r in at.requests if r.seed in seeds]
    assert len(found) == 2
    return found


async def test_a_fact_that_is_refuted_is_offered_as_a_pitfall_from_then_on(tmp_path: Path) -> None:
    said = {
        (0, 0): LINE,
        (0, 2): f"- support E1\n- [technique] {STEP.text}",
        (0, 4): LINE,
        (0, 7): f"- refute E1: {WHY}\n- support E2, E5",
        (0, 9): "- E1 is supported",
    }
    async with (
        server(script=script(said), role_of=role_of) as at,
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver,
    ):
        given, events = settings(at, tmp_path), list[Any]()
        graph = build_graph(saver)
        await follow(graph, {"problem": QUESTION}, CONFIG, given, on_event=events.append)
        for t in (1, 3, 5, 7):
            supported = {1: "", 3: " (supported by 1)", 5: " (supported by 2)"}
            line = f"{LINE}{supported.get(t, ' (supported by 2)')}\n"
            assert all(line in text for text in exploiters(at, t)), t
        for t in range(8, 12):
            for text in exploiters(at, t):
                assert f"- [pitfall] It is not true that {TEXT} (if: {GIVEN}): {WHY}\n" in text
                assert LINE not in text
                assert f"- [technique] {STEP.text} (supported by 1)\n" in text
        state = await graph.aget_state(CONFIG)
        bank = bank_of(given)
        ledger = ledger_of(state.values["experience"])
        assert ledger == (
            Entry(FACT.id, 0, supported=(2, 4, 9), contradicted=(7,), reason=WHY),
            Entry(STEP.id, 2, supported=(7,)),
        )
        assert await bank.read([entry.id for entry in ledger]) == [FACT, STEP]
        [told] = [e for e in events if e["event"] == "experience" and e["iteration"] == 7]
    assert told == {
        "event": "experience",
        "iteration": 7,
        "added": [],
        "supported": 1,
        "refuted": 1,
        "corrected": 0,
        "unknown": 1,
    }


async def test_an_item_whose_text_was_lost_is_written_again_when_it_is_noted_again(
    tmp_path: Path,
) -> None:
    said = {(0, 0): LINE, (0, 2): LINE}
    async with (
        server(script=script(said), role_of=role_of) as at,
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver,
    ):
        given = settings(at, tmp_path, iterations=2)
        graph = build_graph(saver)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        [last] = [s async for s in graph.aget_state_history(CONFIG) if s.next == ("decide",)][:1]
        more = settings(at, tmp_path / "elsewhere", iterations=4)
        await follow(graph, None, last.config, more)
        state = await graph.aget_state(CONFIG)
    assert ledger_of(state.values["experience"]) == (Entry(FACT.id, 0, supported=(2,)),)
    assert await bank_of(more).read([FACT.id]) == [FACT]


async def test_each_fork_has_exactly_its_own_ledger(tmp_path: Path) -> None:
    said = {
        (0, 0): LINE,
        (0, 1): "- support E1",
        (0, 3): "- support E1",
        (0, 4): "- [pitfall] of the first",
        (OTHER_SEED, 3): f"- refute E1: {WHY}",
        (OTHER_SEED, 4): f"- [technique] {STEP.text}\n- support E2",
    }
    async with (
        server(script=script(said), role_of=role_of) as at,
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver,
    ):
        given = settings(at, tmp_path, iterations=5)
        graph = build_graph(saver)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        first = await graph.aget_state(CONFIG)
        states = [state async for state in graph.aget_state_history(CONFIG)]
        [three] = [s for s in states if s.next == ("plan",) and s.values.get("iteration") == 3]
        other = given.model_copy(update={"seed": OTHER_SEED})
        await follow(graph, None, three.config, other)
        second = await graph.aget_state(CONFIG)
        again = await graph.aget_state(first.config)
    before = Entry(FACT.id, 0, supported=(1,))
    assert ledger_of(three.values["experience"]) == (before,)
    assert ledger_of(second.values["experience"]) == (
        Entry(FACT.id, 0, supported=(1,), contradicted=(3,), reason=WHY),
        Entry(STEP.id, 4),
    )
    assert again.values["experience"] == first.values["experience"]
    assert ledger_of(first.values["experience"]) == (
        Entry(FACT.id, 0, supported=(1, 3)),
        Entry(Item("pitfall", "of the first").id, 4),
    )


@pytest.mark.parametrize("order", ["first, then second", "second, then first", "at once"])
async def test_branches_from_iteration_3_have_exactly_their_own_items(
    tmp_path: Path, order: str
) -> None:
    def items(seed: int, ts: range) -> list[Item]:
        return [Item("technique", f"of seed {seed}: use the {t}-th power") for t in ts]

    said = {
        (seed, t): f"- [technique] {item.text}"
        for seed in (0, OTHER_SEED)
        for t, item in enumerate(items(seed, range(6)))
    }
    async with (
        server(script=script(said), role_of=role_of) as at,
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver,
    ):
        given = settings(at, tmp_path, iterations=3)
        graph = build_graph(saver)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        states = [state async for state in graph.aget_state_history(CONFIG)]
        [three] = [s for s in states if s.next == ("decide",) and s.values["iteration"] == 2]

        async def branch(seed: int, thread: str) -> list[Item]:
            config: Any = {"configurable": {"thread_id": thread}}
            values = {name: value for name, value in three.values.items() if name != "stop"}
            await graph.aupdate_state(config, values, as_node="experience")
            await graph.aupdate_state(config, {}, as_node="guideline")
            changed = given.model_copy(update={"seed": seed, "iterations": 6})
            await follow(graph, None, config, changed)
            state = await graph.aget_state(config)
            ids = [entry.id for entry in ledger_of(state.values["experience"])]
            return await bank_of(given).read(ids)

        branches = [(0, "first"), (OTHER_SEED, "second")]
        if order == "at once":
            done = await asyncio.gather(*(branch(*one) for one in branches))
            ends = dict(zip((0, OTHER_SEED), done, strict=True))
        else:
            ends = {}
            for one in branches if order.startswith("first") else branches[::-1]:
                ends[one[0]] = await branch(*one)
    shared = items(0, range(3))
    for seed, end in ends.items():
        assert end == [*shared, *items(seed, range(3, 6))]
