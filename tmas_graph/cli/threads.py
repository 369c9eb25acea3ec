"""`tmas threads`: what runs there are, and how they stand."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tmas_graph.cli.options import Home, Json, home_of, named


def threads(
    most: Annotated[int, typer.Option("--most", min=1, help="How many, the newest first.")] = 20,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List threads, the newest first."""
    from tmas_graph.running import run_blocking

    folder = home_of(home)
    rows = run_blocking(lambda: _rows(folder, most))
    if as_json:
        print(json.dumps(rows, indent=2))  # noqa: T201
    else:
        _print(rows, folder)


async def _rows(folder: Any, most: int) -> list[dict[str, Any]]:
    from tmas_graph.threads import look_into

    async with look_into(folder) as store:
        rows = []
        for record in (await store.all())[:most]:
            values = await store.values(record.id)
            result = values.get("result")
            rows.append(
                {
                    "thread": record.id,
                    "status": status_of(record, store),
                    "method": record.method,
                    "iterations": values.get("iteration", result.iterations if result else 0),
                    "answer": result.answer if result else None,
                    "question": record.problem.question,
                    "cause": record.cause,
                }
            )
        return rows


def status_of(record: Any, store: Any) -> str:
    """As the record says, or `interrupted` for one that no process runs any more."""
    if record.status == "running" and not store.is_running(record.id):
        return "interrupted"
    return str(record.status)


def _print(rows: list[dict[str, Any]], folder: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tmas_graph.cli.plain import line, words

    if not rows:
        parts = _parts(folder)
        here = f"It is a merge of {', '.join(parts)}: they are there." if parts else ""
        said = f"No threads in {folder}. {here or '`tmas solve` makes one.'}"
        Console().print(words(said), soft_wrap=True)
        return
    console, table = Console(), Table(box=None, padding=(0, 2, 0, 0))
    for column in ("thread", "status", "t", "answer", "question"):
        table.add_column(column, no_wrap=True)
    for row in rows:
        answer, question = (line(row[k] or "–") for k in ("answer", "question"))
        cells = [row["thread"], row["status"], str(row["iterations"]), Text(answer), Text(question)]
        cells[3].truncate(20, overflow="ellipsis")
        cells[4].truncate(max(10, console.width - 66), overflow="ellipsis")
        table.add_row(*cells)
    console.print(table)
    name = named("THREAD", folder)
    said = f"tmas show {name} tells what happened; tmas resume {name} goes on."
    console.print(words(said, "dim"), soft_wrap=True)


def _parts(folder: Path) -> tuple[str, ...]:
    """The runs of which the one in `folder` is a merge."""
    from tmas_graph.errors import TmasError
    from tmas_graph.evaluation.run_folder import FILE, read_plan

    try:
        return read_plan(folder).parts if (folder / FILE).is_file() else ()
    except TmasError:
        return ()
