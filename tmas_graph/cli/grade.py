"""`tmas grade`: compare a prediction with a gold answer, or a file of cases."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from tmas_graph.errors import ProblemError

if TYPE_CHECKING:
    from tmas_graph.answers.verdict import Verdict

app = typer.Typer()
_HEADINGS = (
    *("cases", "correct", "incorrect", "unsure", "error"),
    *("right", "false correct", "median ms"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A row of a file of cases; `expected` is None where the row says nothing."""

    id: str
    pred: str
    gold: str
    kind: str
    expected: bool | None


@dataclass(frozen=True, slots=True)
class Graded:
    """A case with its verdict and the time it took."""

    case: Case
    verdict: "Verdict"
    milliseconds: float


@app.command()
def grade(
    pred: Annotated[
        str | None, typer.Argument(help="The prediction: an answer or a whole text.")
    ] = None,
    gold: Annotated[str | None, typer.Argument(help="The gold answer.")] = None,
    file: Annotated[
        Path | None, typer.Option(help="JSONL with pred, gold and maybe id, kind, expected.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON row per case.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one comparison.")] = 5.0,
) -> None:
    """Say whether a prediction equals the gold answer, and why."""
    if file is not None and pred is None:
        cases: Sequence[Case] = list(read_cases(file))
        show = _write_rows if as_json else _print_by_kind
    elif file is None and pred is not None and gold is not None:
        cases = [Case("", pred, gold, "", None)]
        show = _write_rows if as_json else _print_steps
    else:
        raise typer.BadParameter("give PRED and GOLD, or --file alone")
    show(_graded(cases, timeout))


def read_cases(file: Path) -> Iterator[Case]:
    """Read a file of cases.

    Raises:
        ProblemError: the file or one of its lines can't be used.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as reason:
        raise ProblemError(f"{file}: can't be read ({reason}). Give a JSONL file.") from reason
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _case(line, f"{file}:{number}", str(number))


def _case(line: str, where: str, number: str) -> Case:
    try:
        row = json.loads(line)
    except ValueError as reason:
        raise ProblemError(f"{where}: not JSON ({reason}). Write one object a line.") from reason
    if not isinstance(row, dict):
        raise ProblemError(f"{where}: a {type(row).__name__}, not an object. Write {{...}}.")
    for key in ("pred", "gold"):
        if not isinstance(row.get(key), str):
            found = (
                f"(keys: {', '.join(map(str, row))})" if key not in row else f"({row[key]!r:.60})"
            )
            raise ProblemError(f'{where}: no text "{key}" {found}. Give each row pred and gold.')
    expected = row.get("expected")
    if expected is not None and not isinstance(expected, bool):
        raise ProblemError(f'{where}: "expected" is {expected!r:.60}. Write true or false.')
    return Case(
        str(row.get("id", number)), row["pred"], row["gold"], str(row.get("kind", "")), expected
    )


def _graded(cases: Sequence[Case], timeout: float) -> Iterator[Graded]:
    from tmas_graph.answers.equivalence import grade as compare

    for case in cases:
        start = perf_counter()
        verdict = compare(case.pred, case.gold, timeout=timeout)
        yield Graded(case, verdict, (perf_counter() - start) * 1000)


def _write_rows(graded: Iterator[Graded]) -> None:
    for each in graded:
        row = {
            "id": each.case.id,
            "verdict": each.verdict.outcome,
            "cause": each.verdict.cause,
            "milliseconds": round(each.milliseconds, 3),
        }
        typer.echo(json.dumps(row, ensure_ascii=False))


def _print_steps(graded: Iterator[Graded]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for each in graded:
        for number, step in enumerate(each.verdict.steps, start=1):
            console.print(Text(f"{number}. {step}"))
        console.print(Text(f"{each.verdict.outcome}: {each.verdict.cause}", style="bold"))


def _print_by_kind(graded: Iterator[Graded]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    rows = list(graded)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kind", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for kind in sorted({each.case.kind for each in rows}):
        table.add_row(kind or "-", *_counts([each for each in rows if each.case.kind == kind]))
    table.add_section()
    table.add_row("all", *_counts(rows))
    Console().print(table)


def _counts(rows: Sequence[Graded]) -> list[str]:
    outcomes = [each.verdict.outcome for each in rows]
    told = [each for each in rows if each.case.expected is not None]
    accepted = [(each.verdict.outcome == "correct", each.case.expected) for each in told]
    right = sum(said == expected for said, expected in accepted)
    false = sum(said and not expected for said, expected in accepted)
    return [
        str(len(rows)),
        *(str(outcomes.count(outcome)) for outcome in ("correct", "incorrect", "unsure", "error")),
        f"{right}/{len(told)}" if told else "-",
        str(false) if told else "-",
        f"{median(each.milliseconds for each in rows):.2f}" if rows else "-",
    ]
