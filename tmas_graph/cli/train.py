"""`tmas train`: everything about training a policy."""

import typer

from tmas_graph.cli import train_data

app = typer.Typer(
    name="train",
    help="Train a policy for TMAS: build data of recorded runs.",
    no_args_is_help=True,
)
app.command()(train_data.data)
