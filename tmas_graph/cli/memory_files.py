"""Files of `tmas memory`: what is exported is there whole or not at all."""

import os
import sys
from pathlib import Path

from tmas_graph.errors import ItemError, StorageError

STREAM = "-"


def write(name: str, text: str, *, force: bool) -> None:
    """Let file `name` hold `text`; `-` is the standard output.

    Raises:
        StorageError: it is there already, or can't be written.
    """
    if name == STREAM:
        sys.stdout.write(text)
        return
    path = Path(name)
    if path.exists() and not force:
        raise StorageError(f"export: {name} is there already. Give another, or pass --force.")
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(
            f"export: {name} can't be written ({error.strerror}). Give another file."
        ) from None


def read(name: str) -> str:
    """What file `name` holds; `-` is the standard input.

    Raises:
        ItemError: it can't be read, or is no UTF-8.
    """
    try:
        if name == STREAM:
            return sys.stdin.read()
        return Path(name).read_bytes().decode("utf-8-sig")  # as it is: no line end is translated
    except UnicodeDecodeError as error:
        raise ItemError(f"{name}: is no UTF-8 (byte {error.start}). Give another file.") from None
    except OSError as error:
        raise ItemError(f"{name}: can't be read ({error.strerror}). Give another file.") from None
