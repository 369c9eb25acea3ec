"""Every candidate of a run as one flat record, for spreadsheets and data frames."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tmas_graph.evaluation.run_rows import GradedAttempt, Row

FIELDS = (
    *("problem", "method", "iteration", "index", "mode", "outcome", "answer", "score", "status"),
    *("class", "selected_answer", "selected_status", "selected_confidence"),
    *("calls", "tokens", "cost", "depth", "seconds", "stop", "row_outcome", "cause"),
)
"""What `calls` to `seconds` say is of the whole iteration, and the same for all its candidates."""


def records(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """One record for each candidate; an iteration without any has one whose candidate is empty."""
    for row in rows:
        for attempt in row.attempts or (None,):
            yield dict(zip(FIELDS, (*_about(row, attempt), *_iteration(row)), strict=True))


def _about(row: Row, attempt: GradedAttempt | None) -> tuple[Any, ...]:
    key = (row.problem, row.method, row.iteration)
    if attempt is None:
        return (*key, *(None,) * 7)
    how = (attempt.index, attempt.mode, attempt.outcome, attempt.answer)
    return (*key, *how, attempt.score, attempt.status, attempt.answer_class)


def _iteration(row: Row) -> tuple[Any, ...]:
    chosen, spent = row.selected, row.spent
    selected = (chosen.answer, chosen.status, chosen.confidence)
    cost = (spent.calls, spent.tokens, spent.cost, row.depth, row.seconds)
    return (*selected, *cost, row.stop, row.outcome, row.cause)


def as_jsonl(rows: Iterable[Row]) -> str:
    """One JSON object a line, in ASCII."""
    return "".join(f"{json.dumps(record, allow_nan=False)}\n" for record in records(rows))


def as_csv(rows: Iterable[Row]) -> str:
    """A table with a heading; what isn't known is empty.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    file = io.StringIO()
    table = csv.DictWriter(file, FIELDS, lineterminator="\n")
    table.writeheader()
    for record in records(rows):
        table.writerow({name: _harmless(value) for name, value in record.items()})
    return file.getvalue()


def _harmless(value: object) -> object:
    risky = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if risky else value
