"""`tmas methods`, and `tmas solve --method`."""

import json

from tmas_graph.methods import METHODS


def test_methods_are_listed_with_their_calls(tmas) -> None:
    rows = json.loads(tmas("methods", "--preset", "paper", "--json").out)
    assert [row["name"] for row in rows] == list(METHODS)
    calls = {row["name"]: row["calls"] for row in rows}
    assert calls["best-of-n"] == 8 * 9
    assert calls["verify-refine"] == 1440
    assert calls["tmas"] == 1640
    assert "Self-consistency" in tmas("methods").out


def test_a_rival_is_run_shown_listed_and_resumed(tmas, scripted) -> None:
    done = tmas("solve", "6·7?", "--method", "best-of-n[candidates=3]", "--json")
    assert done.code == 0
    said = json.loads(done.out)
    assert len(said["attempts"]) == 3
    assert len(said["standings"]) == 1
    story = json.loads(tmas("show", said["thread"], "--json").out)
    assert story["method"] == "best-of-n[candidates=3]"
    assert story["attempts"] == said["attempts"]
    assert story["spend"] == said["spend"]
    [row] = json.loads(tmas("threads", "--json").out)
    assert (row["method"], row["iterations"]) == ("best-of-n[candidates=3]", 1)
    asked = len(scripted.requests)
    again = tmas("resume", said["thread"])
    assert "it was done already; nothing was asked again." in again.out
    assert len(scripted.requests) == asked


def test_the_view_of_a_rival_tells_its_candidates_and_standing(tmas, scripted) -> None:
    out = tmas("solve", "6·7?", "--method", "self-refine").out
    assert "self-refine · N 2 · M 2 · T 1 · http" in out
    assert "iteration 0: 2 initial" in out
    assert "leading: " in out
    thread = out.rpartition("tmas show ")[2].split()[0]
    shown = tmas("show", thread).out
    assert "method: self-refine" in shown
    assert "bank" not in shown


def test_a_method_that_is_not_there_is_named_with_one_that_is(tmas, scripted) -> None:
    said = tmas.mistake("solve", "6·7?", "--method", "self-refin")
    assert "method: there is no 'self-refin' (did you mean 'self-refine'?)" in said
    said = tmas.mistake("solve", "6·7?", "--method", "tmas[candidats=3]")
    assert "(did you mean 'candidates'?)" in said
    assert not scripted.requests
