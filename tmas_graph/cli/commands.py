"""The commands, put together."""

from typing import Any

import typer
from typer.core import TyperGroup

from tmas_graph.cli import (
    compare,
    estimate,
    export,
    grade,
    memory,
    merge,
    methods,
    models,
    problems,
    resume,
    run,
    settings,
    show,
    solve,
    threads,
    train,
)
from tmas_graph.cli.ending import INTERRUPTED
from tmas_graph.cli.filled import Filled
from tmas_graph.cli.plain import complain


class _Commands(TyperGroup):
    """Ends quietly at Ctrl-C, also while a command still loads what it needs."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            complain("interrupted")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    cls=_Commands,
    name="tmas",
    help="TMAS: test-time scaling by five cooperating agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(solve.solve)
app.command()(resume.resume)
app.command(cls=Filled)(run.run)
app.command(cls=Filled)(estimate.estimate)
app.command(cls=Filled)(merge.merge)
app.command(cls=Filled)(methods.methods)
app.command()(grade.grade)
app.command(cls=Filled)(compare.compare)
app.command(cls=Filled)(export.export)
app.command(cls=Filled)(problems.problems)
app.command()(threads.threads)
app.command()(show.show)
app.command()(settings.settings)
app.add_typer(models.app, name="models")
app.add_typer(memory.app, name="memory")
app.add_typer(train.app, name="train")


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from tmas_graph import __version__

        typer.echo(f"tmas-graph {__version__}")
        raise typer.Exit
