"""`tmas grade`: compare a prediction with a gold answer, or a file of cases."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from tmas_graph.cli.options import Assignments, BaseUrl, Config, ModelName, Preset, changes_of
from tmas_graph.errors import ProblemError

if TYPE_CHECKING:
    from tmas_graph.agents.judge import Judgement
    from tmas_graph.answers.verdict import Verdict
    from tmas_graph.settings import Settings

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
    question: str = ""


@dataclass(frozen=True, slots=True)
class Timed:
    """A case with its verdict, the judge's opinion if it was asked, and the rules' time."""

    case: Case
    verdict: "Verdict"
    milliseconds: float
    judgement: "Judgement | None" = None


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
    question: Annotated[str, typer.Option(help="The question, for the judge.")] = "",
    judge: Annotated[
        bool, typer.Option("--judge", help="Ask the role `judge` where rules are unsure.")
    ] = False,
    preset: Preset = None,
    assignments: Assignments = None,
    base_url: BaseUrl = None,
    model: ModelName = None,
    config: Config = None,
) -> None:
    """Say whether a prediction equals the gold answer, and why."""
    if file is not None and pred is None:
        cases: Sequence[Case] = list(read_cases(file))
        show = _write_rows if as_json else _print_by_kind
    elif file is None and pred is not None and gold is not None:
        cases = [Case("", pred, gold, "", None, question)]
        show = _write_rows if as_json else _print_steps
    else:
        raise typer.BadParameter("give PRED and GOLD, or --file alone")
    timed = _timed(cases, timeout)
    if judge:
        from tmas_graph.configuration import load

        changes = changes_of(assignments, base_url=base_url, model=model)
        timed = iter(_judged(list(timed), load(config, preset=preset, changes=changes).settings))
    show(timed)


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
    texts = [str(row.get(key, other)) for key, other in (("kind", ""), ("question", ""))]
    return Case(str(row.get("id", number)), row["pred"], row["gold"], texts[0], expected, texts[1])


def _timed(cases: Sequence[Case], timeout: float) -> Iterator[Timed]:
    from tmas_graph.answers.equivalence import grade as compare

    for case in cases:
        start = perf_counter()
        verdict = compare(case.pred, case.gold, timeout=timeout)
        yield Timed(case, verdict, (perf_counter() - start) * 1000)


def _judged(timed: Sequence[Timed], settings: "Settings") -> list[Timed]:
    """Add the judge's opinion to each case about which the rules are unsure."""
    import asyncio

    from tmas_graph.evaluation.grading import graded, judge_of
    from tmas_graph.prompts import Prompts
    from tmas_graph.running import run_blocking

    async def ask() -> list[Timed]:
        model, prompts = await judge_of(settings), Prompts.of(settings)

        async def opinion(each: Timed) -> Timed:
            case = each.case
            if each.verdict.outcome != "unsure":
                return each
            done = await graded(
                case.pred, case.gold, question=case.question, judge_by=model, prompts=prompts
            )
            return replace(each, judgement=done.judgement)

        return list(await asyncio.gather(*map(opinion, timed)))

    return run_blocking(ask)


def _write_rows(graded: Iterator[Timed]) -> None:
    for each in graded:
        row = {
            "id": each.case.id,
            "verdict": each.verdict.outcome,
            "cause": each.verdict.cause,
            "milliseconds": round(each.milliseconds, 3),
        }
        if each.judgement:
            row["judge"] = each.judgement.opinion
        typer.echo(json.dumps(row, ensure_ascii=False))


def _print_steps(graded: Iterator[Timed]) -> None:
    from rich.console import Console

    from tmas_graph.cli.plain import words

    console = Console()
    for each in graded:
        for number, step in enumerate(each.verdict.steps, start=1):
            console.print(words(f"{number}. {step}"))
        console.print(words(f"{each.verdict.outcome}: {each.verdict.cause}", "bold"))
        if each.judgement:
            console.print(words(f"judge: {each.judgement.opinion}: {each.judgement.reason}"))


def _print_by_kind(graded: Iterator[Timed]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from tmas_graph.cli.plain import words

    rows = list(graded)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("kind", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right")
    for kind in sorted({each.case.kind for each in rows}):
        table.add_row(
            words(kind or "-"), *_counts([each for each in rows if each.case.kind == kind])
        )
    table.add_section()
    table.add_row("all", *_counts(rows))
    Console().print(table)
    opinions = [each.judgement.opinion for each in rows if each.judgement]
    if opinions:
        said = Counter(opinions)
        counts = ", ".join(f"{said[kind]} {kind}" for kind in ("correct", "incorrect"))
        Console().print(
            f"judge, of {len(opinions)} unsure cases: {counts}, {said['unreadable']} unreadable"
        )


def _counts(rows: Sequence[Timed]) -> list[str]:
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
