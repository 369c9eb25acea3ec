"""Copies threads, with their checkpoints and model calls, from one state folder into another.

A copy is one transaction in the database that is written: it is there whole, or not at all.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from tmas_graph.call_store import digests_in
from tmas_graph.errors import StorageError
from tmas_graph.records import HOME
from tmas_graph.state_folder import DATABASE

_OWNER = {
    "checkpoints": "thread_id",
    "writes": "thread_id",
    "tmas_calls": "thread",
    "tmas_threads": "id",
}
"""The tables that hold threads, and in each the column that says whose a row is."""
_TEXTS = "tmas_texts"


def copy_threads(source: Path, target: Path, names: Collection[str] | None = None) -> None:
    """Let the folder `target` hold the threads `names` of `source` as they are there; None: all.

    Of a thread that `target` has already nothing is left, so `source` must have what is newer.
    The state folder `target` is made where it isn't there.

    Raises:
        StorageError: one of the databases can't be used.
    """
    if not (source / DATABASE).is_file():
        return
    try:
        target.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(target / DATABASE, timeout=60)) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("ATTACH ? AS other", (str(source / DATABASE),))
            if _has_all(db, "other"):
                _copy(db, names)
    except (OSError, sqlite3.Error) as error:
        raise StorageError(
            f"state folder: the threads of {source} can't be copied to {target} ({error}). "
            "See to the disk and its rights, then resume."
        ) from error


def thread_names(folder: Path) -> set[str]:
    """The threads in `folder`; none, where there is no whole database."""
    if not (folder / DATABASE).is_file():
        return set()
    with closing(sqlite3.connect(folder / DATABASE, timeout=60)) as db:
        if not _has_all(db, "main"):
            return set()
        return {name for (name,) in db.execute("SELECT id FROM tmas_threads")}


def settle_memories(folder: Path, names: Collection[str], memory: str) -> None:
    """Let the threads `names` in `folder` have their bank in its subfolder `memory`."""
    with closing(sqlite3.connect(folder / DATABASE, timeout=60)) as db, db:
        db.executemany(
            "UPDATE tmas_threads SET settings = json_set(settings, '$.memory_folder', ?) "
            "WHERE id = ? AND json_extract(settings, '$.memory_server') IS NULL",
            [(HOME + memory, name) for name in names],
        )


def _has_all(db: sqlite3.Connection, which: str) -> bool:
    """Whether all tables are there: who made them may have been killed in the midst of it."""
    rows = db.execute(f"SELECT name FROM {which}.sqlite_master WHERE type = 'table'")
    return {*_OWNER, _TEXTS} <= {name for (name,) in rows}


def _copy(db: sqlite3.Connection, names: Collection[str] | None) -> None:
    for statement in _missing(db):
        db.execute(statement)
    db.execute("CREATE TEMP TABLE wanted (id TEXT PRIMARY KEY)")
    db.execute("CREATE TEMP TABLE texts (digest TEXT PRIMARY KEY)")
    with db:
        rows = db.execute("SELECT id FROM other.tmas_threads").fetchall()
        db.executemany("INSERT INTO wanted VALUES (?)", [r for r in rows if _is_in(r[0], names)])
        for table, owner in _OWNER.items():
            mine = f"{owner} IN (SELECT id FROM temp.wanted)"
            columns = _columns(db, table)
            db.execute(f"DELETE FROM main.{table} WHERE {mine}")
            db.execute(
                f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM other.{table} "
                f"WHERE {mine}"
            )
        db.executemany("INSERT OR IGNORE INTO texts VALUES (?)", _digests(db))
        db.execute(
            f"INSERT OR IGNORE INTO main.{_TEXTS} (digest, text) SELECT digest, text "
            f"FROM other.{_TEXTS} WHERE digest IN (SELECT digest FROM temp.texts)"
        )


def _is_in(name: str, names: Collection[str] | None) -> bool:
    return names is None or name in names


def _missing(db: sqlite3.Connection) -> list[str]:
    """What makes the tables and indexes that are only in the other database."""
    there = {name for (name,) in db.execute("SELECT name FROM main.sqlite_master")}
    wanted = db.execute("SELECT name, sql FROM other.sqlite_master WHERE sql IS NOT NULL")
    return [sql for name, sql in wanted.fetchall() if name not in there]


def _columns(db: sqlite3.Connection, table: str) -> str:
    return ", ".join(f'"{row[1]}"' for row in db.execute(f"PRAGMA other.table_info({table})"))


def _digests(db: sqlite3.Connection) -> Iterator[tuple[str]]:
    query = "SELECT body FROM other.tmas_calls WHERE thread IN (SELECT id FROM temp.wanted)"
    for (body,) in db.execute(query).fetchall():
        yield from ((name,) for name in digests_in(body))
