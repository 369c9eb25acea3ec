"""What the command line says of budgets, of spend, and of threads that are done."""

import io
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer
from rich.console import Console

from tmas_graph.cli.counting import counted
from tmas_graph.cli.live import LiveView, PlainView
from tmas_graph.cli.options import home_of
from tmas_graph.cli.report import money, of_roles, report, spend
from tmas_graph.records import Record
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, Result
from tmas_graph.usage import Usage

RESULT = Result("42", 1.0, "", 1.0, 2, "iterations", Usage(30, 100, 200, cost=0.5))


def record(**changes: Any) -> Record:
    made = Settings(base_url="http://a.example/v1", **changes)
    return Record("t", Problem("Q"), made, {}, {}, 2, "done", "", "", "")


def told(result: Result, *, already: bool = False, **changes: Any) -> str:
    """What the report says, a line for each."""
    console = Console(file=io.StringIO(), width=200)
    report(console, record(**changes), result, home_of(None), already=already)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"max_calls": 30}, "tmas resume t --max-calls 60"),
        ({"max_calls": 31, "max_total_tokens": 300}, "tmas resume t --max-total-tokens 600"),
        ({"max_cost": 0.5}, "tmas resume t --max-cost 1"),
        ({"max_calls": 31, "max_seconds": 9}, "tmas resume t --max-seconds 18"),
        ({"max_calls": 30, "max_cost": 0.25}, "tmas resume t --max-calls 60 --max-cost 1"),
        ({}, "tmas resume t with a larger budget"),
    ],
)
def test_a_budget_that_ended_a_run_is_named_with_the_way_on(
    changes: dict[str, Any], option: str
) -> None:
    said = told(replace(RESULT, stop="budget"), **changes)
    assert "the budget is spent" in said
    assert f"To go on with more: {option}\n" in said


@pytest.mark.parametrize(
    ("result", "option"),
    [
        (RESULT, "-T 8"),
        (replace(RESULT, stop="confident"), "--set early_stop=false"),
    ],
)
def test_a_thread_that_was_done_says_so(result: Result, option: str) -> None:
    said = told(result, already=True)
    assert (
        f"it was done already; nothing was asked again. To go on with more: tmas resume t {option}"
        in said
    )
    assert "done already" not in told(result)
    assert "To go on" not in told(result)


def test_numbers_come_with_the_right_word() -> None:
    assert [counted(n, "strategy") for n in (0, 1, 2)] == [
        "0 strategies",
        "1 strategy",
        "2 strategies",
    ]
    assert counted(1200, "call") == "1,200 calls"
    assert spend(1, 20) == "1 call, 20 tokens"
    assert spend(1, 20, 0.01234) == "1 call, 20 tokens, cost 0.0123"
    assert [money(c) for c in (0.00042, 1.239, 1234.5)] == ["0.00042", "1.24", "1,234.50"]


def test_the_table_of_spend_has_a_row_for_each_role_and_their_sum() -> None:
    rows = {"solution": Usage(1, 1000, 20, 5, 300), "summary": Usage(2, 1, 2)}
    heads, body = of_roles(rows)
    assert heads == ["role", "calls", "prompt", "cached", "completion", "thinking"]
    assert body[0] == ["solution", "1", "1,000", "300", "20", "5"]
    assert body[-1] == ["all", "3", "1,001", "300", "22", "5"]
    priced, body = of_roles({**rows, "judge": Usage(cost=0.25)})
    assert priced[-1] == "cost"
    assert [cells[-1] for cells in body] == ["0", "0", "0.25", "0.25"]


@dataclass
class Load:
    in_flight: int
    waiting: int


CANDIDATE = {
    "event": "candidate",
    "iteration": 0,
    "index": 0,
    "mode": "initial",
    "outcome": "halted",
    "answer": None,
    "solved": False,
    "scores": [],
    "cause": "budget: max_calls 2 is reached. Resume with more to go on.",
    "calls": 2,
    "tokens": 30,
    "cost": 0.5,
}


def test_both_views_say_what_is_in_flight_and_what_it_cost() -> None:
    load = Load(3, 2)
    console = Console(file=io.StringIO(), width=200)
    live = LiveView(console, seconds=lambda: 1.0, load=lambda: load)
    plain = PlainView(console, load=lambda: load)
    for view in (live, plain):
        view.begin(record())
        view.on_event({"event": "iteration", "iteration": 0, "modes": ["initial"]})
        view.on_event(CANDIDATE)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "0.0 initial: halted (budget: max_calls 2 is reached." in said
    assert "3 in flight, 2 waiting" in said
    console.print(live.picture())
    picture = console.file.getvalue()[len(said) :]  # type: ignore[attr-defined]
    assert "2 calls, 30 tokens, cost 0.5 · 1 s · 3 in flight, 2 waiting" in picture
    load.in_flight = load.waiting = 0
    assert plain.load() == ""


def test_a_run_that_its_budget_ends_goes_on_with_more(tmas: Tmas, scripted: ScriptedServer) -> None:
    done = tmas("solve", "What is 6·7?", "-T", "2", "--max-calls", "8")
    assert "1 iteration · 8 calls" in done.out
    [line] = [line for line in done.out.splitlines() if line.startswith("To go on with more: ")]
    command = line.partition("tmas ")[2].split()
    assert command[2:] == ["--max-calls", "16"]
    [row] = json.loads(tmas("threads", "--json").out)
    assert row["status"] == "budget"
    assert row["answer"]
    assert "nothing was asked: that is spent already. To go on" in tmas(*command[:2]).out
    assert len(scripted.requests) == 8
    told = json.loads(tmas(*command, "--json").out)
    assert (told["stop"], told["usage"]["calls"]) == ("iterations", 16)
    shown = tmas("show", told["thread"])
    assert [line.split()[1:3] for line in shown.out.splitlines() if " all " in line]
    story = json.loads(tmas("show", told["thread"], "--json").out)
    assert sum(row["usage"]["calls"] for row in story["spend"]) == 16


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--max-cost", "max_cost: it should be greater than 0"),
        ("--max-seconds", "max_seconds: it should be greater than 0"),
    ],
)
def test_a_budget_of_nothing_is_the_users_mistake(tmas: Tmas, option: str, said: str) -> None:
    assert said in tmas.mistake("solve", "What?", option, "0")


def test_prices_are_shown_as_they_were_set(tmas: Tmas) -> None:
    done = tmas("settings", "--json", "--set", 'prices={"a.b/c"={prompt=1}}')
    told = json.loads(done.out)["settings"]["prices"]
    price = {"prompt": 1.0, "completion": 0.0, "cached": None}
    assert told == {"value": {"a.b/c": price}, "from": "command line"}
