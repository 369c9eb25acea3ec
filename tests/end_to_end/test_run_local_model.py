"""Runs of GSM8K problems on the real SmolLM2-135M, killed and resumed."""

import random
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tmas_graph.evaluation import run_rows
from tmas_graph.methods import METHODS

pytestmark = [pytest.mark.local_model, pytest.mark.early]

_ONCE = """SELECT thread, iteration, seed, role, candidate, purpose, COUNT(*) FROM tmas_calls
WHERE replies > 0 AND seed IS NOT NULL GROUP BY 1, 2, 3, 4, 5, 6 HAVING COUNT(*) > 1"""


def tmas_run(*arguments: str) -> subprocess.Popen[str]:
    """`tmas run` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tmas_graph", "run", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def killed(process: subprocess.Popen[str], after: int) -> None:
    """Kill it when `after` problems have ended."""
    assert process.stdout is not None
    ended = 0
    for line in process.stdout:
        ended += " · " in line and line.startswith("  ")
        if ended >= after:
            break
    assert process.poll() is None, "it ended before it was killed"
    process.kill()
    process.communicate()


def check(folder: Path, problems: int, methods: int) -> None:
    """All rows are there, once; no finished call was made twice; the spend is that of the calls."""
    found = run_rows.read(folder / run_rows.FILE)
    assert not found.notes
    ended = Counter((row.problem, row.method) for row in found.rows if row.stop is not None)
    assert len(ended) == problems * methods
    assert set(ended.values()) == {1}
    with sqlite3.connect(folder / "tmas.sqlite") as database:
        assert database.execute(_ONCE).fetchall() == []
        [spent] = database.execute("SELECT SUM(calls), SUM(completion_tokens) FROM tmas_calls")
    rows = [row.spent for row in found.rows]
    assert spent == (sum(u.calls for u in rows), sum(u.completion_tokens for u in rows))


@pytest.mark.timeout(600)
def test_a_small_run_is_killed_and_ends_with_all_rows(tmp_path):
    folder = tmp_path / "run"
    small = ("-N", "2", "-M", "1", "-T", "1", "--set", "max_tokens=48")
    methods = ("--method", "chain-of-thought,tmas")
    killed(tmas_run("gsm8k", "--limit", "2", "--out", str(folder), *methods, *small), 1)
    last = tmas_run("--resume", str(folder))
    said, _ = last.communicate(timeout=400)
    assert last.returncode == 0, said
    check(folder, 2, 2)


@pytest.mark.long
@pytest.mark.timeout(6 * 3600)
def test_40_problems_with_all_methods_are_killed_five_times(tmp_path):
    rng, folder = random.Random(2026), tmp_path / "run"
    small = ("-N", "2", "-M", "1", "-T", "2", "--set", "max_tokens=24")
    methods = ("--method", ",".join(METHODS))
    killed(tmas_run("gsm8k", "--limit", "40", "--out", str(folder), *methods, *small), 10)
    for _ in range(4):
        killed(tmas_run("--resume", str(folder)), rng.randint(5, 60))
    last = tmas_run("--resume", str(folder))
    said, _ = last.communicate()
    assert last.returncode == 0, said
    check(folder, 40, len(METHODS))
