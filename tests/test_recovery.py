"""What a run knows survives the loss of its store: the checkpoints hold every item."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.memory import InMemorySaver
from savers import SAVERS, sqlite

from tmas_graph import Problem, Settings, build_graph
from tmas_graph.memory.chroma_client import DATABASE
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.opening import bank_of
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.recovery import texts_of
from tmas_graph.running import follow

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
QUESTION = Problem("How many?")
CONFIG: Any = {"configurable": {"thread_id": "1"}}
SHORT = Reasoner().short()
CANDIDATES = 2


def settings(at: ScriptedServer, folder: Path | None, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "candidates": CANDIDATES,
        "verifications": 1,
        "epsilon": 0.0,
        "early_stop": False,
        "memory_folder": str(folder) if folder else None,
    }
    return Settings(base_url=at.base_url, **{**given, **changes})


def solvers_asked(at: ScriptedServer, iterations: range) -> list[str]:
    seeds = {
        seed_of(0, Place(QUESTION.id, t, "solution", i)): (t, i)
        for t in iterations
        for i in range(CANDIDATES)
    }
    asked = {seeds[r.seed]: r.text for r in at.requests if r.seed in seeds}
    return [asked[place] for place in sorted(asked)]


async def extended(graph: Any, config: Any, given: Settings, events: list[Any]) -> None:
    await graph.aupdate_state(config, {"stop": None}, as_node="decide")
    await follow(graph, None, config, given, events.append)


async def lost(given: Settings, how: Callable[[Path], Any]) -> None:
    """The process ends, as far as the bank knows, and its folder is lost."""
    bank = bank_of(given)
    await bank.store.close()
    bank.kept.clear()
    how(Path(given.memory_folder or ""))


def garbage(folder: Path) -> None:
    (folder / DATABASE).write_bytes(b"garbage" * 1000)


@pytest.mark.parametrize("how", [shutil.rmtree, garbage])
@pytest.mark.parametrize("saver_of", SAVERS)
async def test_with_its_store_lost_a_run_goes_on_with_the_same_prompts(
    tmp_path: Path, saver_of: Any, how: Callable[[Path], Any]
) -> None:
    async with server(script=SHORT, role_of=role_of) as at, saver_of(tmp_path) as saver:
        whole = settings(at, tmp_path / "whole", iterations=5)
        await follow(build_graph(), {"problem": QUESTION}, {}, whole)
        expected = solvers_asked(at, range(3, 5))
        at.requests.clear()
        graph, given = build_graph(saver), settings(at, tmp_path / "memory", iterations=3)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        await lost(given, how)
        events: list[Any] = []
        await extended(graph, CONFIG, given.model_copy(update={"iterations": 5}), events)
        assert solvers_asked(at, range(3, 5)) == expected
        assert sum("EXP-" in text for text in expected) == len(expected)
        state = await graph.aget_state(CONFIG)
        ids = [entry.id for entry in ledger_of(state.values["experience"])]
        assert await bank_of(given).missing(ids) == []
    told = [event["cause"] for event in events if event["event"] == "memory"]
    assert [("damaged" in said) for said in told] == ([True] if how is garbage else [])
    for bank in (bank_of(given), bank_of(whole)):
        await bank.store.close()


async def test_a_fork_whose_store_is_lost_finds_what_it_needs(tmp_path: Path) -> None:
    async with server(script=SHORT, role_of=role_of) as at, sqlite(tmp_path) as saver:
        graph, given = build_graph(saver), settings(at, tmp_path / "memory", iterations=4)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        before = solvers_asked(at, range(2, 4))
        states = [state async for state in graph.aget_state_history(CONFIG)]
        [two] = [s for s in states if s.next == ("plan",) and s.values.get("iteration") == 2]
        await lost(given, shutil.rmtree)
        at.requests.clear()
        await follow(graph, None, two.config, given)
        assert solvers_asked(at, range(2, 4)) == before
    await bank_of(given).store.close()


async def test_in_a_graph_of_the_users_own_items_come_back_too(tmp_path: Path) -> None:
    from langgraph.graph import END, START, StateGraph  # noqa: PLC0415
    from typing_extensions import TypedDict  # noqa: PLC0415

    class App(TypedDict, total=False):
        problem: Any
        result: Any

    async with server(script=SHORT, role_of=role_of) as at:
        given = settings(at, tmp_path / "memory", iterations=3)
        app = StateGraph(App, context_schema=Settings)
        app.add_node("tmas", build_graph())
        app.add_edge(START, "tmas")
        app.add_edge("tmas", END)
        graph: Any = app.compile(checkpointer=InMemorySaver())
        whole = settings(at, None, iterations=3)
        await follow(build_graph(), {"problem": QUESTION}, {}, whole)
        expected = solvers_asked(at, range(2, 3))
        at.requests.clear()
        stream = graph.astream(
            {"problem": QUESTION}, CONFIG, context=given, stream_mode="custom", subgraphs=True
        )
        async for _, event in stream:
            if event["event"] == "iteration" and event["iteration"] == 2:
                break
        await stream.aclose()
        await lost(given, shutil.rmtree)
        at.requests.clear()
        await graph.ainvoke(None, CONFIG, context=given)
        assert solvers_asked(at, range(2, 3)) == expected
    await bank_of(given).store.close()


async def test_what_is_nowhere_is_told_once_and_not_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server(script=SHORT, role_of=role_of) as at, sqlite(tmp_path) as saver:
        graph, given = build_graph(saver), settings(at, tmp_path / "memory", iterations=2)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        state = await graph.aget_state(CONFIG)
        ids = [entry.id for entry in ledger_of(state.values["experience"])]
        await lost(given, shutil.rmtree)
        fresh = InMemorySaver()
        elsewhere, values = build_graph(fresh), {**state.values, "noted": (), "stop": None}
        await elsewhere.aupdate_state(CONFIG, values, as_node="decide")
        at.requests.clear()
        events: list[Any] = []
        with caplog.at_level(logging.WARNING):
            more = given.model_copy(update={"iterations": 4})
            await follow(elsewhere, None, CONFIG, more, events.append)
        told = [event["cause"] for event in events if event["event"] == "memory"]
        assert len(told) == 1
        assert f"{len(ids)} items are neither in {given.memory_folder}" in told[0]
        assert told[0] in caplog.text
        first, *later = solvers_asked(at, range(2, 4))
        assert "EXP-" not in first
        assert "EXP-" in later[-1]
    await bank_of(given).store.close()


async def test_the_checkpoints_of_an_iteration_hold_its_new_items_alone(tmp_path: Path) -> None:
    async with server(script=SHORT, role_of=role_of) as at, sqlite(tmp_path) as saver:
        graph, given = build_graph(saver), settings(at, tmp_path / "memory", iterations=4)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        states = [state async for state in graph.aget_state_history(CONFIG)]
        noted = [state.values.get("noted", ()) for state in states if state.next == ("decide",)]
        assert [len(rows) for rows in noted] == [3] * 4
        ids = {entry.id for entry in ledger_of(states[0].values["experience"])}
        assert len(ids) == 12
        await lost(given, shutil.rmtree)
        found = await texts_of(given, sorted(ids), saver, "1")
        assert found.keys() == ids
        assert not (tmp_path / "memory").exists()


PIECES = [
    r"\(\frac{a}{b}\le\sqrt[3]{x_{1}}\)",
    r"$\text{if } n\equiv 1\pmod{4}$, \\ \{x\} {{ x }} {% raw %} {# c #}",
    '"double" \'single\' `back` "“curly”"',
    "tab\tbetween [31m",
    "é ü 漢字 \u200b zero width \u202e turned \U0001f600",
    r"$\begin{pmatrix}1&2\\3&4\end{pmatrix}$ % comment & # $ ~ ^ _",
    r"{} {0} %s %(x)s ${y} {unclosed \boxed{42} \boxed{",
    "trailing backslash \\",
    "--; DROP TABLE items; <b>x</b> &amp; </item> [technique] no tag",
    r"$$\sum_{k=0}^{\infty}\frac{(-1)^k}{k!}x^{k}=e^{-x}$$ \rightarrow \newline \r\n as letters",
]
KINDS = ("conclusion", "technique", "pitfall")
HARD = [
    (KINDS[(i + j) % 3], f"{i}.{j} {one} {other}")
    for i, one in enumerate(PIECES)
    for j, other in enumerate(PIECES)
]


async def test_100_hard_items_come_through_byte_for_byte(tmp_path: Path) -> None:
    """From the agent's reply to store, checkpoint and prompt, before and after a loss."""
    lines = [f"- [{kind}] {text}" for kind, text in HARD]
    said = {
        seed_of(0, Place(QUESTION.id, t, "experience")): "\n".join(lines[10 * t : 10 * t + 10])
        for t in range(10)
    }

    def script(request: Request, choice: int) -> ScriptedReply | str:
        if request.agent != "experience" or request.seed is None:
            return SHORT(request, choice)
        return said.get(request.seed, "NONE")

    async with server(script=script, role_of=role_of) as at, sqlite(tmp_path) as saver:
        plenty = {"iterations": 10, "experience_tokens": 100_000, "dedup": False}
        graph, given = build_graph(saver), settings(at, tmp_path / "memory", **plenty)
        await follow(graph, {"problem": QUESTION}, CONFIG, given)
        state = await graph.aget_state(CONFIG)
        ids = [entry.id for entry in ledger_of(state.values["experience"])]
        items = await bank_of(given).read(ids)
        await lost(given, shutil.rmtree)
        found = await texts_of(given, ids, saver, "1")
        assert [found[id] for id in ids] == items
        assert {(item.kind, item.text) for item in items} == {(k, t.rstrip()) for k, t in HARD}
        await extended(graph, CONFIG, given.model_copy(update={"iterations": 11}), [])
        for text in solvers_asked(at, range(10, 11)):
            assert [item.text for item in items if item.text not in text] == []
    await bank_of(given).store.close()
