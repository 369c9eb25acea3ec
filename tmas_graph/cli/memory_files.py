"""Files of `tmas memory`: what is exported is there whole or not at all."""

import sys
from pathlib import Path

from tmas_graph.cli import files
from tmas_graph.errors import ItemError, StorageError

STREAM = "-"


def write(name: str, text: str, *, force: bool) -> None:
    """Let file `name` hold `text`; `-` is the standard output.

    Raises:
        StorageError: it is there already, or can't be written.
    """
    if name == STREAM:
        if sys.stdout is None:
            raise StorageError("export: the standard output is closed. Give a file.")
        sys.stdout.write(text)
        return
    if not name:
        raise StorageError("export: the name of the file is empty. Give one.")
    path = Path(name)
    if files.is_there(path) and not force:
        raise StorageError(f"export: {name} is there already. Give another, or pass --force.")
    files.write(path, lambda file: file.write_text(text, encoding="utf-8", newline="\n"))


def read(name: str) -> str:
    """What file `name` holds; `-` is the standard input.

    Raises:
        ItemError: it can't be read, or is no UTF-8.
    """
    if not name:
        raise ItemError("import: the name of the file is empty. Give one.")
    try:
        if name == STREAM:
            if sys.stdin is None:
                raise ItemError("import: the standard input is closed. Give a file.")
            given = sys.stdin.buffer.read()
        else:
            given = Path(name).read_bytes()
        return given.decode("utf-8-sig")  # as it is: no line end is translated
    except UnicodeDecodeError as error:
        raise ItemError(f"{name}: is no UTF-8 (byte {error.start}). Give another file.") from None
    except OSError as error:
        raise ItemError(f"{name}: can't be read ({error.strerror}). Give another file.") from None
