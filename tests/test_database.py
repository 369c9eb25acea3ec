"""How much disk a long run takes."""

import itertools
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server

from tmas_graph import Problem, Settings
from tmas_graph.threads import open_threads

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


def bytes_used(database: Path) -> int:
    """Bytes in pages that hold something, those in the write-ahead log too."""
    with sqlite3.connect(database) as connection:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        [free] = connection.execute("PRAGMA freelist_count").fetchone()
        [size] = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    return (pages - free) * size


async def test_the_database_grows_evenly_and_stays_under_4_times_the_replies(tmp_path):
    sizes = []
    async with server(script=Reasoner(), role_of=role_of) as at, open_threads(tmp_path) as store:
        given = Settings(
            base_url=at.base_url, candidates=8, verifications=8, iterations=1, early_stop=False
        )
        record = await store.create(Problem("What is 6 times 7?"), given, {})
        for iterations in range(1, 21):  # one by one, so that all is written when it is measured
            wanted = record.settings.model_copy(update={"iterations": iterations})
            result = await store.run(replace(record, settings=wanted))
            assert result.iterations == iterations
            sizes.append(bytes_used(tmp_path / "tmas.sqlite"))
        replies = sum(
            len((reply.text or "") + reply.thinking) for r in at.requests for reply in r.replies
        )
    growth = [after - before for before, after in itertools.pairwise(sizes[1:])]
    mean = sum(growth) / len(growth)
    assert len(growth) == 18
    assert max(growth) <= 1.1 * mean, growth
    assert min(growth) >= 0.9 * mean, growth
    assert sizes[-1] < 4 * replies
