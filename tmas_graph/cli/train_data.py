"""`tmas train data`: the parquet of prompts to train on, out of recorded runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmas_graph.cli.options import Config, Json

if TYPE_CHECKING:
    from tmas_graph.cli.columns import Column
    from tmas_graph.training_data.building import Built, Wanted
    from tmas_graph.training_data.reporting import Report

_CHOICE = "Which prompts"
REPORT = "report.json"


def data(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Folders of runs.")],
    out: Annotated[
        Path,
        typer.Option(help="Folder for train.parquet, held_out.parquet and report.json."),
    ],
    difficulty: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="Least and greatest p0, the pass rate without a bank; default: above 0 and "
            "below 1, as a group whose rollouts end alike teaches nothing. 0 1 keeps all.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    min_rollouts: Annotated[
        int,
        typer.Option(
            min=1, help="Fewest rollouts without a bank behind p0.", rich_help_panel=_CHOICE
        ),
    ] = 4,
    model: Annotated[
        str | None,
        typer.Option(
            help="Count p0 over the rollouts of this model alone; best, the one to be trained.",
            rich_help_panel=_CHOICE,
        ),
    ] = None,
    rollouts: Annotated[
        bool,
        typer.Option(
            help="Keep the earlier attempts in experience prompts, as they were sent.",
            rich_help_panel=_CHOICE,
        ),
    ] = True,
    per_problem: Annotated[
        int | None,
        typer.Option(min=1, help="Most prompts of one problem.", rich_help_panel=_CHOICE),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Most prompts in all.", rich_help_panel=_CHOICE)
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(
            help="About this share of the problems is held out, always the same ones.",
            rich_help_panel=_CHOICE,
        ),
    ] = 0.1,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """Build training data of recorded runs: problems alone, with experience, with guidelines."""
    from tmas_graph.training_data import parquet
    from tmas_graph.training_data.building import Wanted
    from tmas_graph.training_data.choosing import Choice

    parquet.check()
    choice = Choice(difficulty, min_rollouts, per_problem, limit, held_out)
    built = _built(runs, Wanted(choice, rollouts, model), config)
    _write(out, built)
    if as_json:
        print(_json(built.report))  # noqa: T201
    else:
        _print(out, built.report)


def _built(runs: list[Path], wanted: "Wanted", config: Path | None) -> "Built":
    import asyncio

    from rich.console import Console

    from tmas_graph.cli.plain import line
    from tmas_graph.configuration import load
    from tmas_graph.training_data.building import build

    keys = load(config).settings
    with Console(stderr=True).status("Reading …") as status:

        def tell(folder: str) -> None:
            status.update(f"Making the prompts of {line(folder)} again …")

        return asyncio.run(build(runs, wanted, keys, tell=tell))


def _write(out: Path, built: "Built") -> None:
    """Write all files, the report last: where it is new, the others are."""
    from functools import partial

    from tmas_graph.cli.files import write
    from tmas_graph.errors import StorageError
    from tmas_graph.training_data import parquet

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"--out: {out} can't be made ({error.strerror}). Give another folder."
        ) from error
    for name, records in built.records.items():
        write(out / f"{name}.parquet", partial(parquet.write, records=records))
    report = _json(built.report) + "\n"
    write(out / REPORT, lambda place: place.write_text(report, encoding="utf-8"))


def _json(report: "Report") -> str:
    import json
    from dataclasses import asdict

    return json.dumps(asdict(report), indent=2)


def _print(out: Path, report: "Report") -> None:
    from rich.console import Console

    from tmas_graph.cli.columns import Column, table
    from tmas_graph.cli.counting import counted
    from tmas_graph.cli.plain import line, words

    console = Console()
    console.print(table(_parts(report), console.width))
    console.print()
    bars = [Column(edge, [f"{count:,}"]) for edge, count in report.p0.items()]
    console.print(table([Column("p0", ["problems"], right=False), *bars], console.width))
    console.print()
    left_out = (
        ("problem", report.problems_left_out),
        ("prompt", report.rows_left_out),
        ("rollout", report.rollouts_left_out),
    )
    for what, reasons in left_out:
        for why, count in reasons.items():
            console.print(words(f"left out: {counted(count, what)}: {why}"), soft_wrap=True)
    for method, count in report.rollouts.items():
        said = f"p0 from {counted(count, 'rollout')} of {method}"
        console.print(words(said), soft_wrap=True)
    for note in report.notes:
        console.print(words(f"* {note}", "yellow"), soft_wrap=True)
    files = ", ".join(f"{name}.parquet" for name in report.parts)
    console.print(words(f"{files} and {REPORT} are in {line(str(out))}", "dim"), soft_wrap=True)


def _parts(report: "Report") -> list["Column"]:
    """How many prompts of each source stand in each part, and how long they are."""
    from tmas_graph.cli.columns import Column

    sources = list(report.parts["train"].rows)
    totals = ["all", "problems"]
    columns = [Column("prompts", [*sources, *totals], right=False)]
    for name, part in report.parts.items():
        counts = [*part.rows.values(), sum(part.rows.values()), part.problems]
        columns.append(Column(name, [f"{count:,}" for count in counts]))
    for title in ("median", "p90", "longest"):
        known = [report.tokens.get(source) for source in sources]
        cells = [f"{getattr(one, title):,}" if one else "–" for one in known]
        columns.append(Column(f"tokens: {title}", [*cells, "", ""], rank=1))
    return columns
