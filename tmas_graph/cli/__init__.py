"""The command line: parse, call, print. What is heavy is loaded by the command that needs it."""

import errno
import os
import sys

from tmas_graph.cli.ending import INTERRUPTED, terminable

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and exit status 2."""
    with terminable():
        try:
            _run()
        except KeyboardInterrupt:  # while what all commands need is loaded
            sys.stderr.write("tmas: interrupted\n")
            sys.exit(INTERRUPTED)


def _run() -> None:
    from tmas_graph.cli.commands import app
    from tmas_graph.cli.plain import complain
    from tmas_graph.errors import TmasError

    try:
        try:
            app()
        finally:
            if sys.stdout is not None:  # a shell may have closed it
                sys.stdout.flush()  # what fails at the interpreter's end can't be handled
    except TmasError as error:
        complain(str(error))
        sys.exit(2)
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
