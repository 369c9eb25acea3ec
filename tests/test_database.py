"""How much disk a long run takes."""

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import fmean

import pytest
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server

from tmas_graph import Problem, Settings
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]

_STORED = """
SELECT SUM(bytes) FROM (SELECT SUM(bytes) AS bytes FROM (
    SELECT checkpoint_id, LENGTH(checkpoint) + LENGTH(metadata) AS bytes FROM checkpoints
    UNION ALL SELECT checkpoint_id, LENGTH(value) AS bytes FROM writes
) WHERE checkpoint_id > ? AND checkpoint_id <= ? UNION ALL
SELECT SUM(LENGTH(body)) AS bytes FROM tmas_calls WHERE iteration = ?)
"""


def bytes_by_iteration(database: Path) -> Iterator[int]:
    """What was stored between the ends of two iterations; identifiers sort by time."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT checkpoint_id FROM checkpoints WHERE checkpoint_ns = '' "
            "AND json_extract(CAST(metadata AS TEXT), '$.step') % 4 = 0 ORDER BY checkpoint_id"
        )
        ends = [name for (name,) in rows.fetchall()]
        for t, (begin, end) in enumerate(itertools.pairwise(ends)):
            yield connection.execute(_STORED, (begin, end, t)).fetchone()[0]


def bytes_used(database: Path) -> int:
    """Bytes in pages that hold something, those in the write-ahead log too."""
    with closing(sqlite3.connect(database)) as connection:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        [free] = connection.execute("PRAGMA freelist_count").fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    return (pages - free) * size


async def test_the_database_grows_evenly_and_stays_under_4_times_the_replies(tmp_path):
    # Each iteration adds two items and a strategy to the banks: those may grow, and little else.
    script = Reasoner(items=2, strategies=1)
    async with server(script=script, role_of=role_of) as at, open_threads(tmp_path) as store:
        settings = Settings(
            base_url=at.base_url, candidates=8, verifications=8, iterations=20, early_stop=False
        )
        record = await store.create(Problem("What is 6 times 7?"), settings, {})
        await store.run(record)
        replies = sum(
            len((reply.text or "") + reply.thinking) for r in at.requests for reply in r.replies
        )
    stored = list(bytes_by_iteration(tmp_path / "tmas.sqlite"))
    assert len(stored) == 20
    growth = stored[2:]
    mean = fmean(growth)
    assert max(growth) <= 1.1 * mean, growth
    assert min(growth) >= 0.9 * mean, growth
    assert bytes_used(tmp_path / "tmas.sqlite") < 4 * replies


async def test_checkpoints_hold_neither_calls_nor_the_steps_of_candidates(tmp_path):
    begun: list[int] = []

    def look(event: object) -> None:
        with closing(sqlite3.connect(tmp_path / "tmas.sqlite")) as connection:
            [[count]] = connection.execute(
                "SELECT (SELECT COUNT(*) FROM checkpoints WHERE checkpoint_ns != '') + "
                "(SELECT COUNT(*) FROM writes WHERE checkpoint_ns != '' OR channel = '__return__')"
            )
            begun.append(count)

    script = Reasoner().short()
    async with server(script=script, role_of=role_of) as at, open_threads(tmp_path) as store:
        settings = Settings(base_url=at.base_url, candidates=2, iterations=2, early_stop=False)
        record = await store.create(Problem("What is 6 times 7?"), settings, {})
        await store.run(record, on_event=look)
        assert len([call async for call in store.calls(record.id).all()]) == len(at.requests)
    assert len(begun) > 10
    assert set(begun) == {0}
