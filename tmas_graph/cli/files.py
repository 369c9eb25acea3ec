"""Files that a command writes: whole, or not at all."""

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from tmas_graph.errors import StorageError

_STATE = ("run.json", "tmas.sqlite")
"""What tells that a folder is a run's, or one of threads."""
_OWN = re.compile(
    r"(run\.(json|lock|pid)|rows\.jsonl)(\.new)?|tmas\.sqlite.*|memory|locks|parts", re.IGNORECASE
)
"""What such a folder is made of; a disk may take letters of either case for the same."""


def refuse_unwritable(file: Path | None) -> None:
    """Make sure, before any work, that `file` may well be written.

    Raises:
        StorageError: it is a folder, or stands in none, or is a part of a run.
    """
    if file is None:
        return
    if os.path.isdir(file) or not os.path.isdir(file.parent):
        what = "is a folder" if os.path.isdir(file) else "its folder doesn't exist"
        raise StorageError(f"{file}: {what}. Give a file in a folder that is there.")
    if folder := _whose(Path(os.path.realpath(file))):
        raise StorageError(
            f"{file}: the run in {folder} keeps its own data there. Give another file."
        )


def _whose(file: Path) -> Path | None:
    """The folder of a run, or of threads, that `file` is a part of."""
    for folder in file.parents:
        own = _OWN.fullmatch(file.relative_to(folder).parts[0])
        if own and any(os.path.isfile(folder / name) for name in _STATE):
            return folder
    return None


def write(file: Path, fill: Callable[[Path], object]) -> None:
    """Put a file that `fill` writes in place of `file`, or leave that as it is.

    Raises:
        StorageError: it can't be written.
    """
    try:
        if file.exists() and not file.is_file():  # a pipe or a device can't be replaced
            fill(file)
            return
        named = Path(os.path.realpath(file))  # what a link names is replaced, not the link
        with tempfile.TemporaryDirectory(dir=named.parent, prefix=".tmas-") as folder:
            made = Path(folder) / f"made{file.suffix.lower()}"
            fill(made)
            with made.open("rb") as written:
                os.fsync(written.fileno())
            os.replace(made, named)
    except OSError as error:
        raise _unwritable(file, error) from error


def is_there(file: Path) -> bool:
    """Whether there is something of this name.

    Raises:
        StorageError: there can't be.
    """
    try:
        return file.exists()
    except OSError as error:
        raise _unwritable(file, error) from error


def _unwritable(file: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{file}: can't be written ({error.strerror}). Give another file, or see to its disk."
    )
