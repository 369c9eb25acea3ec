"""`tmas train`: everything about training a policy."""

import typer

from tmas_graph.cli import train_data, train_serve

app = typer.Typer(
    name="train",
    help="Train a policy for TMAS: build data of recorded runs, serve a policy.",
    no_args_is_help=True,
)
app.command()(train_data.data)
app.command()(train_serve.serve)
