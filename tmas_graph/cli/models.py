"""`tmas models`: list, fetch and remove the models that run on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tmas_graph.models.weights import Progress

app = typer.Typer(
    name="models",
    help="List, fetch and remove the models that run on this machine.",
    no_args_is_help=True,
)

Folder = Annotated[
    Path | None,
    typer.Option(
        "--models-folder",
        help="Where models are kept; default: a folder of the user's cache.",
        file_okay=False,
        show_default=False,
    ),
]


@app.command("list")
def list_models(folder: Folder = None) -> None:
    """Show the models that are here, and those that can be fetched by name."""
    from rich.console import Console
    from rich.filesize import decimal
    from rich.table import Table

    from tmas_graph.models import weights

    here = weights.cached(folder)
    table = Table(box=None, pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    for model in here:
        table.add_row(model.name, decimal(model.size), str(model.path))
    for entry in weights.CATALOGUE.values():
        if entry.name not in {model.name for model in here}:
            table.add_row(
                entry.name, decimal(entry.size), f"not here; tmas models fetch {entry.name}"
            )
    console = Console()
    if not console.is_terminal:
        console.width = 1000  # a row stays on one line for whatever reads it
    console.print(table)


@app.command()
def fetch(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A name that `list` shows, or a GGUF repository of the Hugging Face hub: "
            "org/repo, org/repo:Q4_K_M or org/repo:file.gguf. Default: the smallest model.",
            show_default=False,
        ),
    ] = None,
    folder: Folder = None,
) -> None:
    """Fetch a model and check it, if it isn't here."""
    from rich.console import Console
    from rich.filesize import decimal

    from tmas_graph.models import weights

    reference = name or weights.DEFAULT_MODEL
    with progress_bar(reference) as progress:
        model = weights.resolve(reference, folder=folder, progress=progress)
    Console(soft_wrap=True).print(
        f"{model.name} ({decimal(model.size)}) is at {model.path}", highlight=False, markup=False
    )


@app.command()
def remove(
    name: Annotated[str, typer.Argument(help="A name that `list` shows.", show_default=False)],
    folder: Folder = None,
) -> None:
    """Delete a model from this machine."""
    from rich.console import Console
    from rich.filesize import decimal

    from tmas_graph.models import weights

    model = weights.remove(name, folder=folder)
    Console(soft_wrap=True).print(
        f"removed {model.name}, {decimal(model.size)} are free again", highlight=False, markup=False
    )


@contextmanager
def progress_bar(name: str) -> Iterator["Progress"]:
    """Draw a fetch on the standard error, if that is a terminal, from its first report on."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    bar = Progress(*columns, TransferSpeedColumn(), console=console, transient=True)
    task = bar.add_task(f"fetching {name}", total=None)

    def report(done: int, total: int | None) -> None:
        if console.is_terminal:
            bar.start()
        bar.update(task, completed=done, total=total)

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()
