"""`tmas methods`: the ways to solve a problem, and how many calls each takes."""

import json
from typing import Annotated

import typer

from tmas_graph.cli.options import Assignments, Config, Json, Preset, changes_of


def methods(
    named: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME,NAME[SETTING=VALUE],…",
            help="Only these; yours as MODULE:NAME.",
            rich_help_panel="Method",
        ),
    ] = None,
    preset: Preset = None,
    assignments: Assignments = None,
    as_json: Json = False,
    config: Config = None,
) -> None:
    """List the methods, with their calls per problem at most under the settings in force."""
    from rich.console import Console
    from rich.table import Table

    from tmas_graph.cli.plain import words
    from tmas_graph.configuration import load
    from tmas_graph.evaluation.entrants import labels_in
    from tmas_graph.methods import find, names

    settings = load(config, preset=preset, changes=changes_of(assignments)).settings
    shown = {name: find(name) for name in labels_in(named or []) or names()}
    calls = {name: method.calls(method.applied(settings)) for name, method in shown.items()}
    if as_json:
        rows = [
            {"name": name, "title": m.title, "paper": m.paper, "calls": calls[name]}
            for name, m in shown.items()
        ]
        print(json.dumps(rows, indent=2))  # noqa: T201
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("name", "title", "paper", "calls"):
        table.add_column(column, justify="right" if column == "calls" else "left")
    for name, method in shown.items():
        about = (name, method.title, method.paper, f"{calls[name]:,}")
        table.add_row(*map(words, about))
    Console().print(table)
