"""`tmas train`: everything about training a policy."""

import typer

from tmas_graph.cli import train_data, train_plot, train_run, train_serve

app = typer.Typer(
    name="train",
    help="Train a policy for TMAS: build data of recorded runs, serve, train, plot.",
    no_args_is_help=True,
)
app.command()(train_data.data)
app.command()(train_serve.serve)
app.command()(train_run.run)
app.command()(train_plot.plot)
