"""The command line: parse, call, print. What is heavy is loaded by the command that needs it."""

import errno
import os
import sys

import typer

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
from tmas_graph.cli.plain import complain
from tmas_graph.errors import TmasError

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="tmas",
    help="TMAS: test-time scaling by five cooperating agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(solve.solve)
app.command()(resume.resume)
app.command()(run.run)
app.command()(estimate.estimate)
app.command()(merge.merge)
app.command()(methods.methods)
app.command()(grade.grade)
app.command()(compare.compare)
app.command()(export.export)
app.command()(problems.problems)
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


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit status 2."""
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:  # a shell may have closed it
                sys.stdout.flush()  # what fails at the interpreter's end can't be handled
    except TmasError as error:
        complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)  # the reader of a pipe went away
    except OSError as error:
        if error.errno not in _UNWRITABLE or error.filename is not None:
            raise
        _drop_output()
        complain(
            f"output: can't be written ({error.strerror}). Free some room, or send it elsewhere."
        )
        sys.exit(2)


def _drop_output() -> None:
    """Let what is left in the buffer go nowhere, or it fails again at the interpreter's end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
