"""Makes rows and folders of runs from few letters."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.run_rows import GradedAttempt, Row, Selected
from tmas_graph.evaluation.uniting import SETUP
from tmas_graph.usage import Usage

_STATUSES = {"+": "correct", ".": "unanswered", "~": "truncated", "?": "unsure", "!": "error"}


def attempt(index: int, mark: str, mode: str = "initial") -> GradedAttempt:
    """`+` is right, `a` to `z` are wrong answers, other marks as in `_STATUSES`."""
    answer = None if mark in ".~!" else mark
    status: Any = _STATUSES.get(mark, "incorrect")
    outcome = "truncated" if mark == "~" else "finished"
    name = None if answer is None else ord(mark)
    return GradedAttempt(index, mode, outcome, answer, 0.5, status, name)


def row(problem: str, method: str, iteration: int, marks: str, **changes: Any) -> Row:
    """A row whose candidates are `marks`; the first of them is selected."""
    mode = "initial" if iteration == 0 else "exploit"
    attempts = tuple(attempt(i, mark, mode) for i, mark in enumerate(marks))
    status: Any = attempts[0].status if attempts else "error"
    tokens = changes.pop("tokens", 100)
    n = len(marks)
    spend = {"solution": Usage(n, 10 * n, (tokens - 10) * n, cost=0.001 * n)}
    given = {
        "selected": Selected(attempts[0].answer if attempts else None, status, 0.5),
        "spend": spend,
        "depth": 1,
        "seconds": 2.0,
        **changes,
    }
    return Row(problem, method, iteration, attempts, **given)


def rows(method: str, marks: Mapping[str, Sequence[str]], **changes: Any) -> list[Row]:
    """The rows of one method: by problem, the marks of each iteration; the last one ends it."""
    return [
        row(problem, method, t, each, stop="iterations" if t == len(many) - 1 else None, **changes)
        for problem, many in marks.items()
        for t, each in enumerate(many)
    ]


def folder(path: Path, made: Sequence[Row], **setup: Any) -> Path:
    """A run folder with these rows."""
    path.mkdir(parents=True, exist_ok=True)
    methods = list(dict.fromkeys(row.method for row in made))
    settings = {"candidates": 4, "model": "tiny", "epsilon": 0.2, "seed": 0}
    values = {
        "format": 1,
        "source": {"name": "imo-answerbench"},
        "version": "v2",
        "problems": list(dict.fromkeys(row.problem for row in made)),
        "methods": dict.fromkeys(methods, settings),
        "models": {name: {"solution": "tiny"} for name in methods},
        "prompts": {name: {"solution_initial": "ab"} for name in methods},
        "shard": "1/1",
        **setup,
    }
    (path / SETUP).write_text(json.dumps(values, indent=1))
    (path / run_rows.FILE).write_text(run_rows.dumped(made))
    return path
