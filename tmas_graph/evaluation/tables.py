"""Lays a comparison out: the same columns, whether people read them or programs.

For people a figure is one cell, in percent with its spread; for programs it is several, as shares.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tmas_graph.evaluation.cells import NONE, against, chance, figure, short, whole
from tmas_graph.evaluation.comparing import Comparison
from tmas_graph.evaluation.entries import Against, Entry
from tmas_graph.evaluation.metrics import Figure

Plain = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Ready cells for people."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset()
    """Columns that are texts; the others are numbers."""
    ranks: tuple[int, ...] = ()
    """Which column goes first where room is short: the highest; 0 always stays."""


@dataclass(frozen=True, slots=True)
class Report:
    """What is written in any format."""

    tables: tuple[Table, ...]
    records: tuple[dict[str, Plain], ...]
    """The same, for programs: all have the same keys."""
    notes: tuple[str, ...]
    about: dict[str, str]
    """What else programs should know."""


@dataclass(frozen=True, slots=True)
class Column:
    """One thing that is said of each entry."""

    name: str
    """For programs; of a figure, the beginning of its names."""
    heading: str
    get: Callable[[Entry], Any]
    show: Callable[[Any], str] = str
    rank: int = 0
    kind: type | None = None
    """Figure or Against, where one cell stands for several numbers."""


def _usage(name: str, *, total: bool = False) -> Callable[[Entry], float | None]:
    def get(entry: Entry) -> float | None:
        value = None if entry.spent is None else getattr(entry.spent, name)
        return value if total else entry.each(value)

    return get


def _ended(name: str) -> Callable[[Entry], int | None]:
    return lambda e: None if e.pass_at_1 is None else getattr(e.pass_at_1.counts, name)


def _placed(name: str) -> Callable[[Entry], int | None]:
    """A count, unless the method has no standing there."""
    return lambda e: None if e.selected is None else getattr(e, name)


def _compared(measure: str, heading: str, rank: int) -> Iterator[Column]:
    """How entries differ from the base's in one measure, column by column."""

    def get(what: Callable[[Against], Any]) -> Callable[[Entry], Any]:
        def of(entry: Entry) -> Any:
            value = getattr(entry, f"{measure}_against")
            return None if value is None else what(value)

        return of

    name = f"{measure}_difference"
    yield Column(name, heading, get(lambda v: v), against, rank, Against)
    yield Column(f"{measure}_p", "p", get(lambda v: v.difference.p), chance, rank and rank + 1)
    yield Column(f"{measure}_holm", "p (Holm)", get(lambda v: v.holm), chance, rank and rank + 2)
    yield Column(f"{measure}_better", "better", get(lambda v: v.difference.better), rank=rank + 6)
    yield Column(f"{measure}_worse", "worse", get(lambda v: v.difference.worse), rank=rank + 6)


def _paired(entry: Entry) -> int | None:
    return entry.selected_against.difference.problems if entry.selected_against else None


def _hours(entry: Entry) -> float | None:
    return None if entry.seconds is None else entry.seconds * entry.problems / 3600


PLACE = (
    Column("axis", "", lambda e: e.axis),
    Column("at", "at", lambda e: e.at, whole),
    Column("method", "method", lambda e: e.method),
    Column("iteration", "iteration", lambda e: e.iteration, rank=2),
)
ACCURACY = (
    Column("problems", "problems", _placed("problems"), rank=2),
    Column("candidates", "k", lambda e: e.candidates, rank=2),
    Column("pass_at_1", "Pass@1 %", lambda e: e.pass_at_1, figure, 1, Figure),
    Column("selected", "selected %", lambda e: e.selected, figure, 0, Figure),
    Column("majority", "majority@k %", lambda e: e.majority, figure, 3, Figure),
    Column("oracle", "oracle pass@k %", lambda e: e.oracle, figure, 5, Figure),
    *(
        Column(name, name, _ended(name), rank=6)
        for name in ("unanswered", "truncated", "unsure", "error")
    ),
    Column("held", "ended before", _placed("held"), rank=7),
    Column("failed", "failed", _placed("failed"), rank=4),
)
DIFFERENCES = (
    *_compared("selected", "selected", 0),
    *_compared("pass_at_1", "Pass@1", 3),
    Column("paired", "paired", _paired),
)
SPENDING = (
    Column("calls", "calls", _usage("calls"), short),
    Column("prompt_tokens", "prompt", _usage("prompt_tokens"), whole, 3),
    Column("completion_tokens", "completion", _usage("completion_tokens"), whole, 3),
    Column("reasoning_tokens", "thinking", _usage("reasoning_tokens"), whole, 4),
    Column("cached_tokens", "cached", _usage("cached_tokens"), whole, 5),
    Column("tokens", "tokens", _usage("tokens"), whole),
    Column("cost", "money", _usage("cost"), short, 1),
    Column("seconds", "seconds", lambda e: e.seconds, short, 1),
    Column("depth", "depth", lambda e: e.depth, short, 1),
    Column("total_calls", "all calls", _usage("calls", total=True), whole, 6),
    Column("total_tokens", "all tokens", _usage("tokens", total=True), whole, 2),
    Column("total_cost", "all money", _usage("cost", total=True), short, 6),
    Column("total_hours", "all hours", _hours, short, 6),
)
COLUMNS = (*PLACE, *ACCURACY, *DIFFERENCES, *SPENDING)


def report(comparison: Comparison) -> Report:
    """Lay `comparison` out."""
    entries = (*comparison.by_iterations, *comparison.by_tokens)
    return Report(
        tables=(*_tables(comparison, "iterations"), *_tables(comparison, "tokens")),
        records=tuple(map(record, entries)),
        notes=(*_legend(comparison), *comparison.notes),
        about={"base": comparison.base},
    )


def _tables(comparison: Comparison, axis: str) -> list[Table]:
    entries = getattr(comparison, f"by_{axis}")
    if not entries:
        return []
    title = "At equal tokens per problem" if axis == "tokens" else "At equal iterations"
    paired = [entry for entry in entries if entry.method != comparison.base]
    difference = f"{title}: difference to {comparison.base}, in points"
    return [
        _table(f"{title}: accuracy", ACCURACY, entries),
        *([_table(difference, DIFFERENCES, paired)] if paired else []),
        _table(f"{title}: spent so far, mean per problem", SPENDING, entries),
    ]


def _table(title: str, columns: Sequence[Column], entries: Sequence[Entry]) -> Table:
    at, method, iteration = PLACE[1:]
    tokens = entries[0].axis == "tokens"
    shown = (at, method, iteration, *columns) if tokens else (at, method, *columns)
    names = ("tokens" if tokens else "iteration", *(column.heading for column in shown[1:]))
    rows = tuple(tuple(cell(column, entry) for column in shown) for entry in entries)
    return Table(title, names, rows, frozenset({1}), tuple(column.rank for column in shown))


def cell(column: Column, entry: Entry) -> str:
    """What people read."""
    value = column.get(entry)
    return NONE if value is None else column.show(value)


def record(entry: Entry) -> dict[str, Plain]:
    """What programs read: every column, a figure in its parts."""
    found: dict[str, Plain] = {}
    for column in COLUMNS:
        value = column.get(entry)
        if column.kind is Figure:
            found |= parts(column.name, value)
        elif column.kind is Against:
            found |= _ends(column.name, value)
        else:
            found[column.name] = value
    return found


def parts(name: str, value: Figure | None) -> dict[str, Plain]:
    """A figure in its parts, for programs; all None without one."""
    names = (name, f"{name}_se", f"{name}_low", f"{name}_high")
    if value is None:
        return dict.fromkeys(names)
    ends = value.interval
    return dict(zip(names, (value.value, value.standard_error, ends.low, ends.high), strict=True))


def _ends(name: str, value: Against | None) -> dict[str, Plain]:
    names = (name, f"{name}_low", f"{name}_high")
    if value is None:
        return dict.fromkeys(names)
    found = value.difference
    return dict(zip(names, (found.value, found.interval.low, found.interval.high), strict=True))


def _legend(comparison: Comparison) -> list[str]:
    entries = (*comparison.by_iterations, *comparison.by_tokens)
    differences = (
        f"differences to {comparison.base}: paired by problem, 95 % by bootstrap; p by sign-flip, "
        "then corrected by Holm for all of its column"
    )
    paired = any(entry.method != comparison.base for entry in entries)
    return [
        "accuracy: % ± standard error over problems (95 % interval: Wilson's where each problem is "
        "right or wrong, else Student's); iterations count from 0",
        "Pass@1: all candidates of the iteration; selected, majority and oracle: of all so far, k "
        "a problem; the oracle says that a right one is there, not that it can be told",
        "unanswered, truncated, unsure and error: candidates of the iteration that count as wrong",
        *([differences] if paired else []),
    ]
