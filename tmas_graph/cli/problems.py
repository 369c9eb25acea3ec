"""`tmas problems`: the data sets there are, and what is in one."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmas_graph.cli.options import Json

if TYPE_CHECKING:
    from tmas_graph.evaluation.datasets import Dataset

_EXCERPT = 90


def problems(
    name: Annotated[
        str | None, typer.Argument(help="A data set's name, a JSONL file, or a Hugging Face id.")
    ] = None,
    problem_id: Annotated[str | None, typer.Option("--id", help="Show this problem alone.")] = None,
    path: Annotated[
        str | None,
        typer.Option("--from", help="Where your copy of a named one is: JSONL, folder or hub id."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="Split, of a hub id.")] = None,
    id_key: Annotated[str | None, typer.Option(help="Field with the id.")] = None,
    question_key: Annotated[str | None, typer.Option(help="Field with the question.")] = None,
    answer_key: Annotated[str | None, typer.Option(help="Field with the gold answer.")] = None,
    as_json: Json = False,
) -> None:
    """List the data sets, or show the problems of one with their gold answers."""
    if name is None:
        _print_sources(as_json)
        return
    from tmas_graph.evaluation.datasets import load

    keys = {"problem_id": id_key, "question": question_key, "answer": answer_key}
    found = load(name, path=path, split=split, **keys)
    shown = found.problems if problem_id is None else (found.problem(problem_id),)
    rows = [
        {"problem_id": p.id, "question": p.question, "answer": found.golds.get(p.id)} for p in shown
    ]
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))  # noqa: T201
    elif problem_id is None:
        _print_rows(found, rows)
    else:
        _print_one(rows[0])


def _print_sources(as_json: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from tmas_graph.evaluation.datasets import SOURCES

    if as_json:
        for name, source in SOURCES.items():
            ships = bool(source.file)
            row = {"name": name, "about": source.about, "version": source.version, "ships": ships}
            print(json.dumps({**row, "licence": source.licence}))  # noqa: T201
        return
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("name", "ships", "what it is", "version", "licence"):
        table.add_column(column, overflow="fold")
    for name, source in SOURCES.items():
        shipped = "yes" if source.file else "no"
        table.add_row(name, shipped, source.about, source.version, source.licence)
    Console().print(table)


def _print_rows(found: "Dataset", rows: list[dict[str, Any]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from tmas_graph.cli.plain import words

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("id", no_wrap=True)
    table.add_column("question", overflow="ellipsis", no_wrap=True)
    table.add_column("gold answer", overflow="ellipsis", no_wrap=True)
    for row in rows:
        question = " ".join(row["question"].split())[:_EXCERPT]
        table.add_row(*map(words, (row["problem_id"], question, row["answer"] or "–")))
    console = Console()
    console.print(table)
    console.print(words(f"{len(rows)} problems · version {found.version}"))


def _print_one(row: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.panel import Panel

    from tmas_graph.cli.plain import line, words

    console, title = Console(), words(line(row["problem_id"]))
    console.print(Panel(words(row["question"]), title=title, title_align="left"))
    console.print(words(f"gold answer: {row['answer'] or 'unknown'}"))
