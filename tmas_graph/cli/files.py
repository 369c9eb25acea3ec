"""Files that a command writes: whole, or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from tmas_graph.errors import StorageError


def refuse_unwritable(file: Path | None) -> None:
    """Make sure, before any work, that `file` may well be written.

    Raises:
        StorageError: it is a folder, or stands in none.
    """
    if file is None:
        return
    if os.path.isdir(file) or not os.path.isdir(file.parent):
        what = "is a folder" if os.path.isdir(file) else "its folder doesn't exist"
        raise StorageError(f"{file}: {what}. Give a file in a folder that is there.")


def write(file: Path, make: Callable[[Path], object]) -> None:
    """Put the whole file that `make` writes in place of `file`, or leave it as it is.

    Raises:
        StorageError: it can't be written.
    """
    try:
        if file.exists() and not file.is_file():  # a pipe or a device can't be replaced
            make(file)
            return
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".tmas-") as folder:
            made = Path(folder) / f"made{file.suffix.lower()}"
            make(made)
            os.replace(made, file)
    except OSError as error:
        raise StorageError(
            f"{file}: can't be written ({error.strerror}). Give another file, or see to its disk."
        ) from error
