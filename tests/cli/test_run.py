"""`tmas run`, `tmas merge` and `tmas estimate` as a user has them."""

import json
import signal
from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import ScriptedServer, server
from runs_on_script import problems_file, rows, run_ended_by


@pytest.fixture
def file(place: Path) -> str:
    problems_file(place)
    return "problems.jsonl"


def test_a_run_ends_with_a_table_and_goes_on_with_more(tmas, scripted: ScriptedServer, file, place):
    done = tmas("run", file, "--method", "tmas,best-of-n[seed=2]", "--out", "a", "--limit", "2")
    assert (done.code, done.err) == (0, "")
    assert "4 problems × method to do" in done.out
    assert "p1 tmas: correct, answer 42 · 8 calls" in done.out
    assert "4 of 4 done in" in done.out
    assert "best-of-n[seed=2]" in done.out
    assert len(rows(place / "a")) == 4

    before = len(scripted.requests)
    done = tmas("run", "--resume", "a")
    assert (done.code, done.err) == (0, "")
    assert "nothing was left to do: all 4 were done" in done.out
    assert len(scripted.requests) == before

    done = tmas("run", "--resume", "a", "-T", "2", "--method", "chain-of-thought", "--json")
    assert done.code == 0
    assert "changed since it began" in done.err
    assert "tmas: iterations 1 → 2" in done.err
    assert "method chain-of-thought" in done.err
    said = json.loads(done.out)
    assert said["methods"]["chain-of-thought"]["done"] == 2
    assert said["usage"]["calls"] == len(scripted.requests)
    assert tmas("threads", "--home", "a").out.count("done") == 6

    done = tmas("compare", "a")
    assert done.code == 0
    assert "chain-of-thought" in done.out


def test_a_failed_problem_is_told_and_the_status_is_1(tmas, scripted: ScriptedServer, file):
    scripted.change(fail=lambda request: 400 if "What is 2 " in request.text else None)
    done = tmas("run", file, "--out", "a")
    assert done.code == 1
    assert "p2 tmas: failed" in done.out
    assert "3 of 4 done" in done.out
    assert "failed: 1 time: " in done.out
    assert "the rest: tmas run --resume a" in done.out


def test_a_spent_budget_is_told(tmas, scripted: ScriptedServer, file):
    done = tmas("run", file, "--out", "a", "--run-max-calls", "3")
    assert done.code == 3
    assert "max_calls 3 is reached; go on with a larger budget" in done.out
    done = tmas("run", "--resume", "a", "--run-max-calls", "300")
    assert "4 of 4 done" in done.out


def test_shards_are_merged_and_a_merge_is_not_resumed(tmas, scripted, file, place):
    for i in (1, 2):
        assert tmas("run", file, "--out", f"s{i}", "--shard", f"{i}/2").code == 0
    done = tmas("merge", "all", "s1", "s2")
    assert (done.code, done.err) == (0, "")
    assert "4 rows of 2 runs, 4 done, 0 failed · all/rows.jsonl" in done.out
    assert {row.problem for row in rows(place / "all")} == {"p0", "p1", "p2", "p3"}
    assert "is a merge of s1, s2" in tmas.mistake("run", "--resume", "all")
    assert "3 problems" not in done.out
    done = tmas("merge", "half", "s1", "s1")
    assert "2 are in none of them" in done.out


def test_an_estimate_measures_a_few_and_the_run_goes_on_from_there(tmas, scripted, file, place):
    done = tmas("estimate", file, "--problems", "2", "--out", "e")
    assert (done.code, done.err) == (0, "")
    calls = len(scripted.requests)
    assert calls == 16
    assert "32 ± 0" in done.out
    assert "tmas run --resume e --limit 4" in done.out
    assert "Assumed" in done.out
    again = tmas("estimate", "--of", "e", "--limit", "3", "--json")
    said = json.loads(again.out)
    assert said["total"]["calls"]["value"] == 24
    assert len(scripted.requests) == calls, "it needs no call"
    assert tmas("run", "--resume", "e", "--limit", "4").code == 0
    assert len(scripted.requests) == 32


def test_an_estimate_leaves_nothing_behind_unless_it_is_told_where(tmas, scripted, file, place):
    assert tmas("estimate", file, "--problems", "1").code == 0
    assert sorted(path.name for path in place.iterdir()) == ["problems.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "nosuch"], "there is no data set 'nosuch'"),
        (["run", "problems.jsonl", "--method", "tmsa"], "there is no 'tmsa'"),
        (["run", "problems.jsonl", "--method", "tmas,tmas"], "tmas is named twice"),
        (["run", "problems.jsonl", "--shard", "9"], "--shard: '9' isn't I/N"),
        (["run", "problems.jsonl", "--shard", "6/6"], "no problem of 4 falls in 6/6"),
        (["run", "problems.jsonl", "--id", "p9"], "there is no problem 'p9'"),
        (["run", "problems.jsonl", "--run-max-cost", "-1"], "max_cost is -1.0"),
        (["run", "problems.jsonl", "--out", "problems.jsonl"], "is a file"),
        (["run", "--resume", "nosuch"], "is no run, as it has no run.json"),
        (["merge", "out", "nosuch", "other"], "is no run, as it has no run.json"),
        (["estimate", "--of", "nosuch"], "is no run, as it has no run.json"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(tmas, scripted, file, place, arguments, said):
    assert said in tmas.mistake(*arguments)
    assert [path.name for path in place.iterdir() if path.name != "runs"] == ["problems.jsonl"]
    assert scripted.requests == []


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "gsm8k", "--resume", "a"], ["run", "--resume", "a", "--out", "b"]],
)
def test_what_does_not_go_together_is_refused(tmas, arguments):
    done = tmas(*arguments)
    assert done.code == 2
    assert "Usage" in done.err


@pytest.mark.timeout(240)
def test_ctrl_c_stops_it_cleanly_and_says_how_to_go_on(tmas, file, place, monkeypatch):
    with server(script=Reasoner().short(), latency=0.05) as at:
        monkeypatch.setenv("TMAS_BASE_URL", at.base_url)
        status, complaint = run_ended_by(signal.SIGINT, file)
        assert status == 130
        assert complaint.splitlines() == ["tmas: interrupted; `tmas run --resume a` goes on"]
        done = tmas("run", "--resume", "a")
        assert done.code == 0
        assert "4 of 4 done" in done.out
