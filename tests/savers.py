"""Checkpointers that users bring, and ours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tmas_graph.threads import open_threads


@asynccontextmanager
async def sqlite(folder: Path) -> AsyncIterator[Any]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "runs.sqlite")) as saver:
        yield saver


@asynccontextmanager
async def in_memory(folder: Path) -> AsyncIterator[Any]:
    yield InMemorySaver()


@asynccontextmanager
async def ours(folder: Path) -> AsyncIterator[Any]:
    async with open_threads(folder) as store:
        yield store.saver


SAVERS = [sqlite, in_memory, ours]
