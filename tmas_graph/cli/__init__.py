"""The command line: parse, call, print. What is heavy is loaded by the command that needs it."""

import sys

import typer
from rich.console import Console
from rich.text import Text

from tmas_graph.cli import grade, models, problems, resume, settings, show, solve, threads
from tmas_graph.errors import TmasError

app = typer.Typer(
    name="tmas",
    help="TMAS: test-time scaling by five cooperating agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(solve.solve)
app.command()(resume.resume)
app.command()(grade.grade)
app.command()(problems.problems)
app.command()(threads.threads)
app.command()(show.show)
app.command()(settings.settings)
app.add_typer(models.app, name="models")


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and stop."),
) -> None:
    if version:
        from tmas_graph import __version__

        typer.echo(f"tmas-graph {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit status 2."""
    try:
        app()
    except TmasError as error:
        Console(stderr=True).print(Text(f"tmas: {error}", style="red"), soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)  # the reader of a pipe went away
