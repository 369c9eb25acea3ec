"""`tmas export`: the rows of an evaluation run in the forms of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tmas_graph.cli.files import refuse_unwritable, write
from tmas_graph.errors import SettingsError

if TYPE_CHECKING:
    from tmas_graph.evaluation.datasets import Dataset
    from tmas_graph.evaluation.uniting import RunFolder


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    inspect: Annotated[
        Path | None,
        typer.Option(help="Write a log for `inspect view`, FILE.eval; one for each method."),
    ] = None,
    as_csv: Annotated[
        Path | None, typer.Option("--csv", help="Write a table of all candidates.")
    ] = None,
    as_jsonl: Annotated[
        Path | None, typer.Option("--jsonl", help="Write all candidates, one a line.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Only this method's.")] = None,
) -> None:
    """Write the rows of a run for other programs: inspect, spreadsheets, data frames."""
    from tmas_graph.evaluation import exporting
    from tmas_graph.evaluation.uniting import load

    tables = ((as_csv, exporting.as_csv), (as_jsonl, exporting.as_jsonl))
    if inspect is None and as_csv is None and as_jsonl is None:
        raise SettingsError("export: no form is given. Give --inspect, --csv or --jsonl a file.")
    if inspect is not None and inspect.suffix != ".eval":
        raise SettingsError(f"--inspect: {str(inspect)!r} doesn't end in .eval. Name it so.")
    for file in (inspect, as_csv, as_jsonl):
        refuse_unwritable(file)
    found = _of_method(load(run), method)
    for note in found.notes:
        typer.echo(f"* {note}", err=True)
    for file, made in tables:
        if file is not None:
            _write_text(file, made(found.rows))
            typer.echo(str(file))
    if inspect is not None:
        _write_logs(found, inspect)


def _write_text(file: Path, text: str) -> None:
    write(file, lambda place: place.write_text(text, encoding="utf-8"))


def _of_method(found: "RunFolder", method: str | None) -> "RunFolder":
    """The run with the rows of `method` alone, where one is given."""
    from dataclasses import replace

    from tmas_graph.settings import near

    if method is None:
        return found
    names = list(dict.fromkeys(row.method for row in found.rows))
    if method not in names:
        raise SettingsError(
            f"--method: {method!r} has no rows in {found.path}{near(method, names)}. "
            f"It has those of {', '.join(names)}."
        )
    return replace(found, rows=tuple(row for row in found.rows if row.method == method))


def _write_logs(found: "RunFolder", file: Path) -> None:
    from datetime import UTC, datetime

    from tmas_graph.evaluation.uniting import SETUP, unite
    from tmas_graph.inspecting.logs import Export

    problems = _problems(found)
    began = datetime.fromtimestamp((found.path / SETUP).stat().st_mtime, UTC)
    methods = unite([found]).methods
    for name, run in methods.items():
        place = file if len(methods) == 1 else file.with_stem(f"{file.stem}-{_safe(name)}")
        refuse_unwritable(place)
        write(place, Export(run, str(found.path.resolve()), began, problems).write)
        typer.echo(str(place))


def _problems(found: "RunFolder") -> "Dataset | None":
    """The texts and gold answers that the run was about; None, and a word of it, without."""
    from tmas_graph.cli.plain import plain
    from tmas_graph.errors import TmasError
    from tmas_graph.evaluation.datasets import KEYS, load

    setup = found.setup
    try:
        given = {key: name for key, name in setup.keys.items() if key in KEYS}
        return load(setup.benchmark, path=setup.path, **given)
    except TmasError as error:
        typer.echo(plain(f"* samples show no texts: {error}"), err=True)
        return None


def _safe(name: str) -> str:
    """A method's name as part of a file's."""
    import re

    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", name).strip("-")
