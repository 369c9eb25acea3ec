"""`tmas compare`: a table of methods, from the rows of evaluation runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tmas_graph.cli.files import refuse_unwritable, write
from tmas_graph.errors import SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from tmas_graph.cli.columns import Column
    from tmas_graph.evaluation.tables import Report, Table

Format = Literal["text", "markdown", "csv", "latex", "json"]
_WIDE = 400
"""Letters in a line of a text file: it has no edge to fit into."""
_ROWS = 32
"""Of a table for people, where nobody says which iterations to show."""


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    base: Annotated[
        str | None,
        typer.Option(help="Method that differences are to; default: self-consistency, if any."),
    ] = None,
    iterations: Annotated[
        str | None, typer.Option(help="Iterations to show, from 0, for example 1,3,9; or all.")
    ] = None,
    tokens: Annotated[
        str | None, typer.Option(help="Further budgets of tokens per problem, as N,N,...")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Name of a run, one for each: same methods, other settings."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How it is written.")] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write it to.")] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="As the paper's Table 1, beside its numbers.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw accuracy into this .png or .svg, too.")
    ] = None,
) -> None:
    """Compare methods by the rows of runs: accuracy, differences, cost."""
    from functools import partial

    from tmas_graph.evaluation import plot as drawing
    from tmas_graph.evaluation.comparing import compare as work_out
    from tmas_graph.evaluation.tables import report
    from tmas_graph.evaluation.uniting import load, unite

    if paper and plot is None and (base or iterations or tokens):
        raise SettingsError(
            "--paper: its table has the paper's own iterations and no base. "
            "Leave out --base, --iterations and --tokens."
        )
    every = iterations is not None and iterations.strip() == "all"
    chosen = None if every else _numbers(iterations, "--iterations")
    budgets = _numbers(tokens, "--tokens", least=1)
    for file in (out, plot):
        refuse_unwritable(file)
    if plot is not None and plot == out:
        raise SettingsError(f"--plot: {plot} is given to --out, too. Give each a file of its own.")
    if plot is not None:
        drawing.check(plot)
    evaluation = unite([load(run) for run in dict.fromkeys(runs)], label or ())
    work = partial(work_out, evaluation, base=base, iterations=chosen, tokens=budgets)
    comparison = None if paper else work(most=None if form in ("csv", "json") else _ROWS)
    if comparison is not None:
        made = report(comparison)
    else:
        from tmas_graph.evaluation.paper import paper as as_published

        made = as_published(evaluation)
    if plot is not None:
        found = comparison if comparison is not None and comparison.is_whole else work()
        write(plot, lambda file: drawing.draw(found, file))
        typer.echo(f"wrote {plot}", err=True)
    _give(made, form, out)


def _numbers(text: str | None, option: str, *, least: int = 0) -> list[int]:
    found = []
    for part in text.split(",") if text is not None else ():
        word = part.strip()
        if not (word.isascii() and word.isdigit() and len(word) < 16 and int(word) >= least):
            raise SettingsError(
                f"{option}: {word[:40]!r} is no whole number from {least}. Write 1,3,9."
            )
        found.append(int(word))
    return found


def _give(made: "Report", form: Format, out: Path | None) -> None:
    made = _harmless(made)
    if form == "text" and out is None:
        from rich.console import Console

        _draw(made, Console())
        return
    text = _text(made) if form == "text" else _formatted(made, form)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write(out, lambda file: file.write_text(text, encoding="utf-8"))
        typer.echo(f"wrote {out}", err=True)


def _harmless(made: "Report") -> "Report":
    """`made` without anything that steers a terminal: methods and problems are named by files."""
    from dataclasses import replace

    from tmas_graph.cli.plain import plain

    def shown(text: str) -> str:
        return plain(" ".join(text.splitlines()))

    tables = [
        replace(
            each,
            title=shown(each.title),
            rows=tuple(tuple(map(shown, cells)) for cells in each.rows),
        )
        for each in made.tables
    ]
    records = [
        {name: plain(value) if isinstance(value, str) else value for name, value in record.items()}
        for record in made.records
    ]
    about = {name: plain(str(value)) for name, value in made.about.items()}
    notes = tuple(map(shown, made.notes))
    return replace(made, tables=tuple(tables), records=tuple(records), notes=notes, about=about)


def _formatted(made: "Report", form: Format) -> str:
    from tmas_graph.evaluation.formats import FORMATS

    return FORMATS[form](made)


def _text(made: "Report") -> str:
    import io

    from rich.console import Console

    file = io.StringIO()
    _draw(made, Console(file=file, width=_WIDE, color_system=None))
    return "".join(line.rstrip() + "\n" for line in file.getvalue().splitlines())


def _draw(made: "Report", console: "Console") -> None:
    from tmas_graph.cli.columns import table
    from tmas_graph.cli.plain import words

    for each in made.tables:
        console.print(words(each.title, "bold"))
        console.print(table(_columns(each), console.width))
        console.print()
    for note in made.notes:
        console.print(words(f"* {note}"))


def _columns(each: "Table") -> list["Column"]:
    from tmas_graph.cli.columns import Column

    cells = list(zip(*each.rows, strict=True)) or [()] * len(each.headings)
    return [
        Column(heading, cells[place], rank=each.ranks[place], right=place not in each.left)
        for place, heading in enumerate(each.headings)
    ]
