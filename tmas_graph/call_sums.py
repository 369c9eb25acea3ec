"""Sums over the model calls of all threads in one database."""

from dataclasses import fields
from typing import Any, NamedTuple

from tmas_graph.checkpoints import GroupingSqliteSaver
from tmas_graph.models.call_rows import covered
from tmas_graph.usage import Usage

_SUMS = ", ".join(f"SUM({field.name})" for field in fields(Usage))


class Pace(NamedTuple):
    """How long calls took."""

    requests: int
    seconds: float
    """All together, without the time that they waited for the limiter."""


async def spent_by_thread(saver: GroupingSqliteSaver) -> dict[str, Usage]:
    """What each thread has spent; threads without calls are left out."""
    rows = await _rows(saver, f"SELECT thread, {_SUMS} FROM tmas_calls GROUP BY thread")
    return {thread: Usage(*values) for thread, *values in rows}


async def seconds_of_all(saver: GroupingSqliteSaver) -> float:
    """For how long some call of any thread was under way, over all sittings."""
    return covered(await _rows(saver, "SELECT began, ended FROM tmas_calls ORDER BY began"))


async def pace(saver: GroupingSqliteSaver) -> Pace:
    """How long the calls of all threads took."""
    query = "SELECT COALESCE(SUM(calls), 0), COALESCE(SUM(ended - began - queued), 0.0)"
    [row] = await _rows(saver, f"{query} FROM tmas_calls WHERE replies > 0")
    return Pace(int(row[0]), max(0.0, float(row[1])))


async def _rows(saver: GroupingSqliteSaver, query: str) -> list[tuple[Any, ...]]:
    await saver.flush()
    async with saver.lock, saver.conn.execute(query) as cursor:
        return [tuple(row) async for row in cursor]
