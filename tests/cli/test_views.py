"""`tmas threads`, `tmas show` and `tmas settings`."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import Tmas
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner
from endpoints.scripted import ScriptedServer
from rich.console import Console

from tmas_graph import Problem, Settings
from tmas_graph.cli import banks
from tmas_graph.cli.live import LiveView
from tmas_graph.records import Record
from tmas_graph.state import Strategy


def test_threads_are_listed_with_their_answers(tmas: Tmas, scripted: ScriptedServer) -> None:
    told = json.loads(tmas("solve", "What is\n6·7 [x]?", "--json").out)
    [row] = json.loads(tmas("threads", "--json").out)
    assert row == {
        "thread": told["thread"],
        "status": "done",
        "method": "tmas",
        "iterations": 1,
        "answer": told["answer"],
        "question": "What is\n6·7 [x]?",
        "cause": "",
    }
    out = tmas("threads").out
    assert told["thread"] in out
    assert "What is 6·7 [x]?" in out


def test_to_look_makes_no_state_folder(tmas: Tmas, place: Path) -> None:
    for command in ("show x", "show x --calls", "memory list --thread x", "memory strategies x"):
        assert tmas.mistake(*command.split()) == (
            f"threads: there is no 'x' in {place}/home. `tmas threads` lists them."
        )
    assert "No threads in" in tmas("threads").out
    assert not (place / "home").exists()


def test_without_threads_it_says_how_to_make_one(tmas: Tmas) -> None:
    assert "`tmas solve` makes one" in tmas("threads").out
    assert json.loads(tmas("threads", "--json").out) == []


def test_a_thread_is_shown_with_its_candidates_banks_and_result(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    told = json.loads(tmas("solve", "What is 6·7?", "-T", "2", "--json").out)
    story = json.loads(tmas("show", told["thread"], "--json").out)
    assert [(a["iteration"], a["index"]) for a in story["attempts"]] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    assert len(story["experience"]) == 6
    assert len(story["strategies"]) == 4
    assert (story["status"], story["cause"]) == ("done", "")
    assert story["result"]["answer"] == told["answer"]
    assert "api_key" not in json.dumps(story)
    out = tmas("show", told["thread"]).out
    for text in (
        "What is 6·7?",
        "Experience bank: 6",
        "Guideline bank: 4",
        f"answer: {told['answer']}",
        story["experience"][0]["text"],
        story["strategies"][0]["name"],
    ):
        assert text in out


def judging(request: Request, choice: int) -> ScriptedReply | str:
    """The Experience agent notes two items, then says what is wrong with them."""
    if request.agent != "experience":
        return Reasoner().short()(request, choice)
    if "- E1 [conclusion]" in request.text:
        return "- refute E1: $1 \\neq 2$\n- correct E2: [technique] [b]halve[/b] (if: n is even)"
    return "- [conclusion] a\n- [technique] halve"


def test_items_are_shown_with_what_became_of_them_and_where_they_are_from(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(script=judging)
    told = json.loads(tmas("solve", "What is 6·7?", "-T", "2", "--json").out)
    story = json.loads(tmas("show", told["thread"], "--json").out)
    first, second, third = story["experience"]
    scores = [a["score"] for a in story["attempts"]]
    assert first == {
        "name": "E1",
        "kind": "conclusion",
        "text": "a",
        "conditions": "",
        "status": "refuted",
        "support": 0,
        "contradictions": 1,
        "iteration": 0,
        "rollouts": [{"index": 0, "score": scores[0]}, {"index": 1, "score": scores[1]}],
        "supported": [],
        "contradicted": [1],
        "reason": "$1 \\neq 2$",
        "corrected_by": "",
        "absorbed_by": "",
    }
    assert (second["reason"], second["corrected_by"]) == ("corrected", "E3")
    assert (third["text"], third["conditions"]) == ("[b]halve[/b]", "n is even")
    assert [r["score"] for r in third["rollouts"]] == scores[2:]
    out = tmas("show", told["thread"]).out
    for text in (
        "E1 conclusion a",
        "refuted · 1 contradiction · $1 \\neq 2$ · from iteration 0 (mean scores ",
        "refuted · 1 contradiction · corrected by E3 · from iteration 0",
        "E3 technique [b]halve[/b] (if: n is even)",
        "open · from iteration 1",
    ):
        assert text in out


def naming(request: Request, choice: int) -> ScriptedReply | str:
    """The Guideline agent names two strategies, and then one of them again."""
    if request.agent != "guideline":
        return Reasoner().short()(request, choice)
    if "- G1 Descent" in request.text:
        return "- G2 (attempts 1, 2): [b]done[/b]"
    return "- Descent: go down: how it ended\n- Induction on n: go up (attempt 2): no base case"


def test_strategies_are_shown_with_how_often_they_were_tried_and_how_they_ended(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(script=naming)
    done = tmas("solve", "What is 6·7?", "-T", "2")
    assert "guideline bank: 0 new strategies, 1 tried again" in done.out
    [row] = json.loads(tmas("threads", "--json").out)
    story = json.loads(tmas("show", row["thread"], "--json").out)
    first, second = story["strategies"]
    assert first == {
        "id": "G1",
        "name": "Descent",
        "essence": "go down: how it ended",
        "tries": 1,
        "named": 0,
        "iterations": [0],
        "best_score": None,
        "outcome": "",
    }
    assert (second["id"], second["tries"], second["iterations"]) == ("G2", 3, [0, 1])
    scores = [a["score"] for a in story["attempts"]]
    assert second["best_score"] == max(min(scores[:2]), *scores[2:])
    out = tmas("show", row["thread"]).out
    for text in (
        "G1 Descent go down: how it ended",
        "in iteration 0 · no attempt named",
        "G2 Induction on n go up",
        f"3 candidates in iteration 0, 1 · best score {second['best_score']:.2f} · [b]done[/b]",
    ):
        assert text in out
    listed = tmas("memory", "strategies", row["thread"])
    assert (listed.code, listed.out) == (
        0,
        out[out.index("Guideline bank: 2") :][: len(listed.out)],
    )
    told = json.loads(tmas("memory", "strategies", row["thread"], "--json").out)
    assert told == story["strategies"]


@pytest.mark.parametrize(
    ("tried", "score", "said"),
    [
        (((0, 0), (2, 0)), None, "in iteration 0, 2 · no attempt named"),
        (((0, 1),), None, "1 candidate in iteration 0 · no score known"),
        (((0, 2),), 0.5, "2 candidates in iteration 0 · best score 0.50"),
        (((0, 2), (1, 0)), 0.5, "at least 3 candidates in iteration 0, 1 · best score 0.50"),
    ],
)
def test_a_strategy_is_said_to_be_tried_as_often_as_is_known(
    tried: tuple[tuple[int, int], ...], score: float | None, said: str
) -> None:
    console = Console(file=io.StringIO(), width=200)
    banks.print_strategies(console, banks.strategies([Strategy("A", "", tried, score)]))
    assert f"     {said}\n" in console.file.getvalue()  # type: ignore[attr-defined]


def test_what_is_borrowed_is_shown_with_the_problem_that_it_is_from(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    def script(request: Request, choice: int) -> ScriptedReply | str:
        if request.agent != "experience":
            return Reasoner().short()(request, choice)
        return "- [technique] halve it (if: n is even)" if "6·7" in request.text else "NONE"

    scripted.change(script=script)
    shared = ("--set", "memory_scope=library")
    first = json.loads(tmas("solve", "What is 6·7?", "--json", *shared).out)
    done = tmas("solve", "What is 5·9?", *shared)
    assert "library: 1 item of other problems is shown next" in done.out
    [other, row] = sorted(
        json.loads(tmas("threads", "--json").out), key=lambda one: "5" in one["question"]
    )
    story = json.loads(tmas("show", row["thread"], "--json").out)
    assert story["borrowed"] == [
        {
            "kind": "technique",
            "text": "halve it",
            "conditions": "n is even",
            "status": "open",
            "reason": "",
            "problem": first["problem"]["id"],
        }
    ]
    out = tmas("show", row["thread"]).out
    assert "Borrowed from other problems: 1" in out
    assert "technique halve it (if: n is even)" in out
    assert f"open · from problem {first['problem']['id']}" in out
    assert "Borrowed from other problems: empty" in tmas("show", other["thread"]).out


def test_an_item_that_another_one_absorbed_is_told_as_such(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    def script(request: Request, choice: int) -> ScriptedReply | str:
        if request.agent != "experience":
            return Reasoner().short()(request, choice)
        first = "- [conclusion] T(2) = 3"
        return f"{first} and T(3) = 7" if "- E1 [conclusion]" in request.text else first

    scripted.change(script=script)
    told = json.loads(tmas("solve", "What is 6·7?", "-T", "2", "--json").out)
    story = json.loads(tmas("show", told["thread"], "--json").out)
    assert [i["absorbed_by"] for i in story["experience"]] == ["E2", ""]
    assert "open · E2 says it and more · from iteration 0" in tmas("show", told["thread"]).out


def test_a_memory_that_is_off_has_no_place_in_a_view(tmas: Tmas, scripted: ScriptedServer) -> None:
    off = [f"--set={name}=false" for name in ("experience", "guideline")]
    said = tmas("solve", "What is 6·7?", "-T", "2", *off)
    assert said.code == 0
    assert "bank" not in said.out
    assert "library" not in said.out
    [row] = json.loads(tmas("threads", "--json").out)
    shown = tmas("show", row["thread"]).out
    assert "bank" not in shown
    assert " experience " not in shown
    story = json.loads(tmas("show", row["thread"], "--json").out)
    assert (story["experience"], story["strategies"]) == ([], [])


@pytest.mark.parametrize("experience", [True, False])
@pytest.mark.parametrize("guideline", [True, False])
def test_the_live_view_has_a_column_for_each_memory_that_is_kept(
    experience: bool, guideline: bool
) -> None:
    console = Console(file=io.StringIO(), width=200)
    view = LiveView(console)
    given = Settings(experience=experience, guideline=guideline)
    view.begin(Record("t", Problem("What?"), given, {}, {}, 0, "", "", "", ""))
    view.on_event({"event": "iteration", "iteration": 0, "modes": ["initial"]})
    for bank, kept in (("experience", experience), ("guideline", guideline)):
        told = {"event": bank, "iteration": 0, "added": ["a", "b"] if kept else []}
        view.on_event(told if kept else {**told, "off": True})
    console.print(view.picture())
    drawn = console.file.getvalue()  # type: ignore[attr-defined]
    assert ("experience" in drawn) == experience
    assert ("strategies" in drawn) == guideline
    assert drawn.count("+2") == experience + guideline


def test_a_thread_that_stopped_shows_its_cause(tmas: Tmas, scripted: ScriptedServer) -> None:
    scripted.change(fail=lambda r: 503)
    tmas("solve", "What?")
    [row] = json.loads(tmas("threads", "--json").out)
    assert row["status"] == "stopped"
    assert "no candidate came through" in row["cause"]
    assert "stopped: iteration 0" in tmas("show", row["thread"]).out


def settings_in_force(tmas: Tmas, *arguments: str) -> Any:
    done = tmas("settings", "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)["settings"]


def test_settings_say_what_is_in_force_and_where_it_came_from(
    tmas: Tmas, place: Path, monkeypatch: Any
) -> None:
    (place / "tmas.toml").write_text("[roles.summary]\nmodel = 'm'\n")
    monkeypatch.setenv("TMAS_CANDIDATES", "5")
    told = settings_in_force(tmas, "--set", "extra_body.top_k=3", "--preset", "paper")
    assert told["candidates"] == {"value": 5, "from": "TMAS_CANDIDATES"}
    assert told["iterations"] == {"value": 20, "from": "preset paper"}
    assert told["roles.summary.model"] == {"value": "m", "from": "tmas.toml"}
    assert told["extra_body.top_k"] == {"value": 3, "from": "command line"}
    assert told["top_p"] == {"value": 0.95, "from": "default"}
    out = tmas("settings").out
    assert "TMAS_CANDIDATES" in out
    assert "roles.summary.model" in out
    assert "roles.solution.model" not in out


def test_a_whole_role_can_be_set_at_once(tmas: Tmas) -> None:
    told = settings_in_force(tmas, "--set", "roles={summary={model='m'}}")
    assert told["roles.summary.model"] == {"value": "m", "from": "command line"}


def test_keys_are_never_printed(tmas: Tmas, monkeypatch: Any) -> None:
    monkeypatch.setenv("TMAS_API_KEY", "s3cret")
    monkeypatch.setenv("TMAS_ROLES__SUMMARY__API_KEY", "s3cret")
    for arguments in ([], ["--json"]):
        out = tmas("settings", *arguments).out
        assert "s3cret" not in out
        assert "(set)" in out
    told = settings_in_force(tmas)
    assert told["roles.summary.api_key"] == {
        "value": "(set)",
        "from": "TMAS_ROLES__SUMMARY__API_KEY",
    }
    assert told["roles.solution.api_key"]["value"] is None
