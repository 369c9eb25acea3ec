import io
from collections import Counter
from dataclasses import dataclass

import pytest
from rich.console import Console

from tmas_graph.cli.run_view import RunView, duration
from tmas_graph.evaluation.run_rows import Row, Selected
from tmas_graph.evaluation.run_standing import MethodStanding, Purse, RunStanding
from tmas_graph.usage import Usage


@dataclass
class Load:
    in_flight: int = 3
    waiting: int = 1
    allowed: int = 8


def standing(done: int = 4, right: int = 3) -> RunStanding:
    """Of one method: ten problems, `done` of them, each of five calls."""
    whole = Purse()
    method = MethodStanding(10, Purse(within=whole), calls_each=8)
    times = iter([0.0, 100.0, 100.0, 100.0, 100.0])
    run = RunStanding(whole, {"tmas[epsilon=0.5]": method}, clock=lambda: next(times))
    run.begin()
    method.purse.charge(Usage(calls=5 * done, prompt_tokens=1000, cost=0.25))
    method.statuses = Counter(correct=right, incorrect=done - right)
    method.ended, method.ended_calls = done, 5 * done
    return run


def test_the_picture_tells_accuracy_spend_load_and_time_left():
    console = Console(width=120, force_terminal=True, file=io.StringIO(), record=True)
    view = RunView(console, Load)
    view.begun(standing())
    console.print(view.picture())
    said = console.export_text()
    assert "tmas[epsilon=0.5]  4/10" in said
    assert "75.0% ± 25.0" in said
    assert "4/10 done · 20 calls, 1,000 tokens, cost 0.25" in said
    assert "3 in flight, 1 waiting, 8 allowed" in said
    assert "2 min, about 2 min left" in said


def test_without_a_terminal_each_problem_is_a_line_and_nothing_steers_it():
    console = Console(width=200, file=io.StringIO())
    view = RunView(console, Load)
    view.begun(standing())
    last = Row("p\x1b[2J", "tmas", 0, (), Selected("[red]4", "incorrect", 1.0), stop="confident")
    view.ended([last])
    assert console.file.getvalue() == (  # type: ignore[attr-defined]
        "6 problems × method to do, 4 done before\n"
        "  p\\x1b[2J tmas: incorrect, answer [red]4 · 0 calls\n"
    )


def test_nothing_is_printed_for_programs():
    console = Console(file=io.StringIO())
    view = RunView(console, Load, quiet=True)
    view.begun(standing())
    assert console.file.getvalue() == ""  # type: ignore[attr-defined]


def test_nothing_is_known_before_a_problem_ends():
    run = standing(done=0, right=0)
    [method] = run.methods.values()
    assert method.accuracy is None
    assert method.calls_left == 80
    assert run.seconds_left is None


@pytest.mark.parametrize(
    ("seconds", "said"), [(40.4, "40 s"), (720, "12 min"), (12_000, "3 h 20 min")]
)
def test_a_duration_is_told_as_people_do(seconds: float, said: str):
    assert duration(seconds) == said
