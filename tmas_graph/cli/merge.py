"""`tmas merge`: the shards of one run as one run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from tmas_graph.cli.options import Json


def merge(
    out: Annotated[Path, typer.Argument(help="Folder to write; a new one.")],
    runs: Annotated[list[Path], typer.Argument(help="Folders of the runs.")],
    as_json: Json = False,
) -> None:
    """Unite the shards of one run; their settings, models and prompts must be the same."""
    from dataclasses import asdict

    from rich.console import Console

    from tmas_graph.cli.counting import counted
    from tmas_graph.cli.plain import line, words
    from tmas_graph.evaluation.merging import merge
    from tmas_graph.evaluation.run_rows import FILE

    done = merge(out, runs)
    if as_json:
        print(json.dumps({"run": str(out), **asdict(done)}, indent=2))  # noqa: T201
        return
    said = f"{counted(done.rows, 'row')} of {counted(len(runs), 'run')}"
    ends = f"{done.done:,} done, {done.failed:,} failed"
    console = Console()
    console.print(words(f"{said}, {ends} · {line(str(out / FILE))}"), soft_wrap=True)
    if done.missing:
        left = f"{done.missing:,} are in none of them: a part isn't finished, or wasn't given."
        console.print(words(left, "yellow"), soft_wrap=True)
