"""The rows of an evaluation run: one problem, method and iteration each, in `rows.jsonl`.

The one place that knows their format. A row is one line of JSON, in ASCII, so that every reader
splits the file into the same lines; `parse` undoes `dump` exactly. An iteration's row says what
that iteration alone has made and spent; only `selected` is about all iterations up to it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tmas_graph.errors import StorageError
from tmas_graph.evaluation.metrics import Status, Try
from tmas_graph.evaluation.row_fields import Fields
from tmas_graph.usage import Usage, summed

FILE = "rows.jsonl"
RowOutcome = Literal["done", "failed"]


class Key(NamedTuple):
    """What a row is about; of two rows with the same one the later holds."""

    problem: str
    method: str
    iteration: int


@dataclass(frozen=True, slots=True)
class GradedAttempt:
    """One candidate of the iteration, graded."""

    index: int
    mode: str
    """How it was asked for: `initial`, `exploit`, `explore`."""
    outcome: str
    """How its reply ended: `finished`, `truncated`, `failed` and so on."""
    answer: str | None
    score: float | None
    """Mean of its verifications; None is "unknown", which is not 0."""
    status: Status
    answer_class: int | None = None
    """Equal for equal answers of one problem and method, over all its iterations."""

    @property
    def graded(self) -> Try:
        """What the statistics need of it."""
        return Try(self.status, self.answer_class)


@dataclass(frozen=True, slots=True)
class Selected:
    """What the method would answer after this iteration."""

    answer: str | None
    status: Status
    confidence: float


@dataclass(frozen=True, slots=True)
class Row:
    """One iteration of one method at one problem."""

    problem: str
    method: str
    iteration: int
    """From 0."""
    attempts: tuple[GradedAttempt, ...]
    selected: Selected
    spend: Mapping[str, Usage] = field(default_factory=dict)
    """By role, of this iteration alone."""
    depth: int = 0
    """Calls of this iteration that had to wait for one another: the longest chain."""
    seconds: float = 0.0
    """Wall time of this iteration."""
    stop: str | None = None
    """Why the work on the problem ended after this iteration; None where it went on."""
    outcome: RowOutcome = "done"
    """`failed`: the iteration didn't come through; there may be no attempt."""
    cause: str = ""

    @property
    def key(self) -> Key:
        """What it is about."""
        return Key(self.problem, self.method, self.iteration)

    @property
    def is_graded(self) -> bool:
        """Whether the problem's right answer was known."""
        return self.selected.status != "ungraded"

    @property
    def truncated(self) -> int:
        """Candidates that were cut off."""
        return sum(attempt.outcome == "truncated" for attempt in self.attempts)

    @property
    def spent(self) -> Usage:
        """What all roles spent together."""
        return summed(self.spend.values())


class Rows(NamedTuple):
    """What a file holds."""

    rows: tuple[Row, ...]
    """Each key once, in the order in which the keys first stand in the file."""
    notes: tuple[str, ...]
    """What was passed over, for people."""


def dump(row: Row) -> str:
    """Write `row` as one line, without its end."""
    plain = asdict(row)
    for attempt in plain["attempts"]:
        attempt["class"] = attempt.pop("answer_class")
    return json.dumps(plain, allow_nan=False)


def parse(line: str | bytes, where: str) -> Row:
    """Read one line; `where` (file and line number) begins the message about a bad one.

    Raises:
        StorageError: it is no row.
    """
    fields = Fields.of_json(line, where)
    row = Row(
        problem=fields.name("problem"),
        method=fields.name("method"),
        iteration=fields.count("iteration"),
        attempts=tuple(map(_attempt, fields.several("attempts"))),
        selected=_selected(fields.part("selected")),
        spend={role: _usage(usage) for role, usage in fields.parts("spend").items()},
        depth=fields.count("depth"),
        seconds=fields.amount("seconds"),
        stop=fields.maybe_text("stop"),
        outcome=fields.one_of("outcome", get_args(RowOutcome)),
        cause=fields.text("cause"),
    )
    fields.end()
    return row


def read(file: Path) -> Rows:
    """Read a file of rows.

    A last line without an end is what a crash left: it is passed over, with a note, unless it is
    whole.

    Raises:
        StorageError: the file can't be read, or another line is no row.
    """
    try:
        lines = file.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise StorageError(
            f"{file}: can't be read ({error.strerror}). Give the folder of an evaluation run."
        ) from error
    *whole, last = lines
    found = {}
    for number, line in enumerate(whole, start=1):
        if line.strip():
            row = parse(line, f"{file}:{number}")
            found[row.key] = row
    notes = []
    if _unfinished(last):
        notes.append(f"{file}:{len(lines)}: passed over, as a crash left this line unfinished")
    elif last.strip():
        row = parse(last, f"{file}:{len(lines)}")
        found[row.key] = row
    return Rows(tuple(found.values()), tuple(notes))


def dumped(rows: Iterable[Row]) -> str:
    """Write `rows` as a whole file."""
    return "".join(f"{dump(row)}\n" for row in rows)


def _unfinished(last: bytes) -> bool:
    """Is it the beginning of a row, or what a power cut leaves?"""
    if not last.strip(b"\0 \t\r"):
        return b"\0" in last
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        start = b'{"problem":'
        return last.startswith(start) or start.startswith(last)
    return False


def _attempt(fields: Fields) -> GradedAttempt:
    attempt = GradedAttempt(
        index=fields.count("index"),
        mode=fields.text("mode"),
        outcome=fields.text("outcome"),
        answer=fields.maybe_text("answer"),
        score=fields.maybe_number("score"),
        status=fields.one_of("status", get_args(Status)),
        answer_class=fields.maybe_whole("class"),
    )
    fields.end()
    return attempt


def _selected(fields: Fields) -> Selected:
    selected = Selected(
        answer=fields.maybe_text("answer"),
        status=fields.one_of("status", get_args(Status)),
        confidence=fields.amount("confidence"),
    )
    fields.end()
    return selected


def _usage(fields: Fields) -> Usage:
    """Read a usage; a field that it lacks is 0."""
    given: dict[str, Any] = {}
    for name in Usage.__dataclass_fields__:
        if name in fields.values:
            given[name] = fields.amount(name) if name == "cost" else fields.count(name)
    fields.end()
    return Usage(**given)
