"""`tmas threads`, `tmas show` and `tmas settings`."""

import json
from pathlib import Path
from typing import Any

from cli.conftest import Tmas
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner
from endpoints.scripted import ScriptedServer


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
