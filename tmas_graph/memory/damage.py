"""Which errors of Chroma mean that its folder is damaged, and how the damaged files get away.

Nothing is deleted. A folder that is locked, unreadable, full, or of a newer Chroma isn't damaged.
"""

import os
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from tmas_graph.errors import StorageError
from tmas_graph.memory.chroma_client import DATABASE, Client
from tmas_graph.memory.rows import Where

_SQLITE_CODE = re.compile(r"\(code: (\d+)\)")
_DAMAGED_DATABASE = (11, 26)
"""SQLITE_CORRUPT and SQLITE_NOTADB: the file's content is wrong."""
_ANY_FAULT = 1
"""SQLITE_ERROR, of a table that isn't there among others; Chroma may hide even that."""
_DAMAGED_INDEX = re.compile(r"hnsw|deserializing|finding id", re.IGNORECASE)
_INDEX_FOLDER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEAST_FREE = 1 << 20


def is_damaged(folder: Path, error: BaseException) -> bool:
    """Whether `error`, which Chroma raised, says that the files in `folder` are damaged.

    Of the index Chroma doesn't say why it can't be loaded: other causes are ruled out here.
    """
    said = str(error)
    if (folder / DATABASE).is_dir():
        return True
    found = _SQLITE_CODE.search(said)
    if found and (code := int(found[1]) & 0xFF) != _ANY_FAULT:
        return code in _DAMAGED_DATABASE
    if _is_readable(folder) and _lacks_tables(folder):
        return True
    return bool(_DAMAGED_INDEX.search(said)) and _is_readable(folder) and not _is_newer(folder)


def set_aside(folder: Path) -> Path:
    """Move Chroma's files, and no others, out of `folder` into one beside it.

    Raises:
        StorageError: they can't be moved.
    """
    stamp = f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    names = (f"{folder.name}.damaged-{stamp}{f'-{n}' if n else ''}" for n in count())
    aside = next(path for name in names if not (path := folder.with_name(name)).exists())
    try:
        aside.mkdir()
        for entry in folder.iterdir():
            if entry.name.startswith(DATABASE) or _INDEX_FOLDER.fullmatch(entry.name):
                shutil.move(entry, aside / entry.name)
    except OSError as error:
        raise StorageError(
            f"memory: {folder} is damaged, and can't be moved aside ({error.strerror}). "
            "Move it away; it is built again from the checkpoints."
        ) from error
    return aside


def _is_readable(folder: Path) -> bool:
    try:
        for path in folder.rglob("*"):
            if path.is_file():
                path.open("rb").close()
        return shutil.disk_usage(folder).free >= _LEAST_FREE and os.access(folder, os.W_OK)
    except OSError:
        return False


def _is_newer(folder: Path) -> bool:
    """Whether the database knows steps of migration that this Chroma doesn't."""
    known = "SELECT dir, version FROM migrations"
    try:
        return not _said(folder, known) <= _fresh(known)
    except (OSError, sqlite3.Error):
        return True


def _lacks_tables(folder: Path) -> bool:
    """Whether tables are gone from the database; a newer Chroma may do without some."""
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    try:
        there = _said(folder, tables)
        return bool(there and _fresh(tables) - there) and not _is_newer(folder)
    except (OSError, sqlite3.Error):
        return False


def _fresh(query: str) -> set[tuple[str | int, ...]]:
    """What a new database of this Chroma answers."""
    with tempfile.TemporaryDirectory() as made:
        Client(Where(made)).close()
        return _said(Path(made), query)


def _said(folder: Path, query: str) -> set[tuple[str | int, ...]]:
    with closing(sqlite3.connect(f"{(folder / DATABASE).as_uri()}?mode=ro", uri=True)) as database:
        return set(database.execute(query))
