"""The folder that threads are kept in, and its SQLite database: made, opened, looked into."""

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from errno import ENOTDIR
from pathlib import Path

import aiosqlite

from tmas_graph.call_store import TABLES
from tmas_graph.errors import StorageError

DATABASE = "tmas.sqlite"
_TABLE = """
CREATE TABLE IF NOT EXISTS tmas_threads (
    id TEXT PRIMARY KEY, created TEXT NOT NULL, updated TEXT NOT NULL, version INTEGER NOT NULL,
    problem TEXT NOT NULL, settings TEXT NOT NULL, prompts TEXT NOT NULL, models TEXT NOT NULL,
    status TEXT NOT NULL, cause TEXT NOT NULL, method TEXT NOT NULL DEFAULT 'tmas')
"""
_COLUMN = "ALTER TABLE tmas_threads ADD COLUMN method TEXT NOT NULL DEFAULT 'tmas'"
"""For a state folder that was made before there were other methods."""


def made(folder: Path) -> Path:
    """The database of `folder`, which is made if it isn't there.

    Raises:
        StorageError: it can't be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unusable(folder, error) from error
    return folder / DATABASE


def found(folder: Path) -> Path | None:
    """The database of `folder`, if it has one; nothing is made.

    Raises:
        StorageError: it could never have one.
    """
    try:
        nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not nearest.is_dir():
            raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR))
        return folder / DATABASE if (folder / DATABASE).exists() else None
    except OSError as error:
        raise unusable(folder, error) from error


@asynccontextmanager
async def connected(folder: Path, database: Path | None) -> AsyncIterator[aiosqlite.Connection]:
    """The `database` of `folder` or, with none, an empty one in memory, with our tables.

    Raises:
        StorageError: it can't be used.
    """
    try:
        connection = await aiosqlite.connect(database or ":memory:", timeout=60)
    except (OSError, sqlite3.Error) as error:
        raise unusable(folder, error) from error
    try:
        try:
            for table in (_TABLE, *TABLES):
                await connection.execute(table)
            columns = await connection.execute_fetchall("PRAGMA table_info(tmas_threads)")
            if "method" not in {column[1] for column in columns}:
                await connection.execute(_COLUMN)
            await connection.commit()
        except sqlite3.Error as error:
            raise unusable(folder, error) from error
        yield connection
    finally:
        await connection.close()


def unusable(folder: Path, error: Exception) -> StorageError:
    """What `error`, which came of working with `folder`, means to a user."""
    reason = getattr(error, "strerror", None) or error
    return StorageError(
        f"state folder: {folder} can't be used ({reason}). Give another with --home or TMAS_HOME."
    )
