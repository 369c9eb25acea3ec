"""`tmas train plot`: pictures of training runs, one beside the other."""

from pathlib import Path
from typing import Annotated

import typer


def plot(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Picture, .png or .svg; default: training.png in the first RUN."),
    ] = None,
) -> None:
    """Draw rewards, lengths, entropy, clipping, mismatch and held-out curves of runs."""
    from tmas_graph.grpo.plotting import draw

    file = out or runs[0] / "training.png"
    draw(runs, file)
    typer.echo(str(file))
