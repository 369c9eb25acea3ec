"""The switches of the ablations over real HTTP: how many calls, and who sees what."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, markers, role_of
from endpoints.scripted import ScriptedServer, server
from langgraph.checkpoint.memory import InMemorySaver

from tmas_graph import Problem, Settings, asolve, build_graph
from tmas_graph.errors import ThreadChanged
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.models import pool
from tmas_graph.records import differences, refuse_changes
from tmas_graph.running import follow
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

QUESTION = "How many?"
N, M, T = 4, 2, 3
SHORT = Reasoner().short()
CONFIG: Any = {"configurable": {"thread_id": "1"}}


def settings(at: ScriptedServer, **changes: Any) -> Settings:
    given: dict[str, Any] = {
        "candidates": N,
        "verifications": M,
        "iterations": T,
        "epsilon": 0.5,
        "mode_draws": "stratified",
        "early_stop": False,
    }
    return Settings(base_url=at.base_url, **{**given, **changes})


@pytest.mark.parametrize(
    ("off", "calls"),
    [
        ((), N * (1 + M) + N + 2),
        (("experience",), N * (1 + M) + N + 1),
        (("guideline",), N * (1 + M) + N + 1),
        (("experience", "guideline"), N * (2 + M)),
    ],
    ids=str,
)
async def test_a_bank_that_is_off_is_never_asked_and_never_shown(
    off: tuple[str, ...], calls: int
) -> None:
    events: list[Any] = []
    async with server(script=SHORT, role_of=role_of, choices="ignored") as at:
        given = settings(at, **dict.fromkeys(off, False))
        result = await asolve(QUESTION, given, on_event=events.append)
        requests = list(at.requests)
    assert (len(requests), result.usage.calls) == (T * calls, T * calls)
    assert {spend.role for spend in result.spend}.isdisjoint(off)
    agents = Counter(r.agent for r in requests)
    for bank in ("experience", "guideline"):
        assert agents[bank] == (0 if bank in off else T)
        told = [e for e in events if e["event"] == bank]
        assert [e.get("off", False) for e in told] == [bank in off] * T
    for request in requests:
        if request.role == "solution_exploit":
            assert markers("SOL", request.text)
            assert bool(markers("EXP", request.text)) == ("experience" not in off)
        if request.role == "solution_explore":
            assert not any(markers(k, request.text) for k in ("SOL", "SUM", "EXP"))
            assert bool(markers("STRAT", request.text)) == ("guideline" not in off)
            assert ("listed above" in request.text) == ("guideline" not in off)
            assert ("another main idea" in request.text) == ("guideline" in off)


async def test_with_all_items_every_exploiter_sees_the_whole_ledger_in_its_order() -> None:
    many = replace(SHORT, items=12)
    async with server(script=many, role_of=role_of) as at:
        graph = build_graph(InMemorySaver())
        given = settings(at, retrieval="all", experience_tokens=50, dedup=False, iterations=4)
        await follow(graph, {"problem": Problem(QUESTION)}, CONFIG, given)
        shown = [len(markers("EXP", r.text)) for r in at.requests if r.role == "solution_exploit"]
        judged = [r for r in at.requests if r.agent == "experience"]
        state = await graph.aget_state(CONFIG)
    assert Counter(shown) == {12: 2, 24: 2, 36: 2}
    assert [r.text.count("\n- E") for r in judged] == [0, 12, 24, 36]
    assert len(ledger_of(state.values["experience"])) == 48
    last = judged[-1].text
    places = [last.index(f"\n- E{n} [") for n in range(1, 37)]
    assert places == sorted(places)


@pytest.mark.parametrize(("dedup", "kept"), [(True, 2), (False, 4)])
async def test_without_dedup_only_the_same_words_are_the_same_item(dedup: bool, kept: int) -> None:
    lines = iter(
        [
            "- [conclusion] T(2) = 3\n- [conclusion] x_5 < y",
            "- [conclusion] We have T(2) = 3.\n- [conclusion] y > x_5",
            "- [conclusion] T(2) = 3",
        ]
    )

    def script(request: Request, choice: int) -> ScriptedReply | str:
        return next(lines) if request.agent == "experience" else SHORT(request, choice)

    async with server(script=script, role_of=role_of) as at:
        graph = build_graph(InMemorySaver())
        await follow(graph, {"problem": Problem(QUESTION)}, CONFIG, settings(at, dedup=dedup))
        ledger = ledger_of((await graph.aget_state(CONFIG)).values["experience"])
    assert len(ledger) == kept
    assert ledger[0].supported == ((1, 2) if dedup else (2,))


@pytest.mark.parametrize(
    ("name", "value"),
    [("experience", False), ("guideline", False), ("dedup", False), ("retrieval", "all")],
)
async def test_a_resume_with_another_switch_names_it(
    tmp_path: Path, name: str, value: object
) -> None:
    async with server(script=SHORT, role_of=role_of) as at, open_threads(tmp_path) as store:
        given = settings(at)
        record = await store.create(Problem(QUESTION), given, await pool.check(given))
        other = Settings.checked({**given.model_dump(), name: value})
        changes = differences(record, other, await pool.check(other))
        back = differences(replace(record, settings=other), given, await pool.check(given))
    old = getattr(given, name)
    assert changes == [f"{name} ({old} → {value})"]
    assert back == [f"{name} ({value} → {old})"]
    with pytest.raises(ThreadChanged, match=name):
        refuse_changes(record, changes)


async def test_the_endpoint_of_a_bank_that_is_off_need_not_answer() -> None:
    async with server(script=SHORT, role_of=role_of) as at:
        nobody: Any = {"experience": {"base_url": "http://127.0.0.1:9/v1"}}
        given = settings(at, experience=False, roles=nobody)
        assert set(await pool.check(given)) == {
            "solution", "verification", "summary", "guideline",
        }  # fmt: skip
