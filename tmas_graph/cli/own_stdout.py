"""Standard output for what a command itself says, where a package prints to it as well."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO


@contextmanager
def own_stdout() -> Iterator[TextIO]:
    """Give standard output to the caller alone: inside `with`, what others print is dropped.

    That holds for prints of other threads, and for what is written to the descriptor itself.
    """
    with open(os.devnull, "w") as nowhere:
        if not _is_real(sys.stdout):
            ours = sys.stdout
            with redirect_stdout(nowhere):
                yield ours
            return
        sys.stdout.flush()
        kept = os.dup(1)
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        with open(kept, "w", buffering=1, encoding=encoding, errors=errors) as own:
            os.dup2(nowhere.fileno(), 1)
            try:
                with redirect_stdout(nowhere):
                    yield own
            finally:
                try:
                    own.flush()  # may fail: who reads it may be gone
                finally:
                    os.dup2(kept, 1)


def _is_real(stream: TextIO | None) -> bool:
    """Whether it is the process's, not a test's, and not closed."""
    try:
        return stream is not None and stream.fileno() == 1
    except (OSError, ValueError):
        return False
