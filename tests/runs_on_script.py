"""Runs of a few problems on scripted servers, and what became of them."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from endpoints.scripted import ScriptedServer

from tmas_graph import Settings
from tmas_graph.evaluation import run_rows, sitting
from tmas_graph.evaluation.books import Watch
from tmas_graph.evaluation.planning import More, fresh
from tmas_graph.evaluation.problem_set import chosen, source_of
from tmas_graph.evaluation.run_folder import RunLimits
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.evaluation.run_standing import RunStanding
from tmas_graph.evaluation.runner import HERE, Executor

METHODS = ("tmas", "self-consistency", "best-of-n[verifications=1]")


def problems_file(folder: Path, count: int = 4) -> Path:
    """A file of `count` problems; the right answer of every second one is 42."""
    file = folder / "problems.jsonl"
    rows = [
        {"problem_id": f"p{i}", "question": f"What is {i} + x?", "answer": "42" if i % 2 else "7"}
        for i in range(count)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def settings(at: ScriptedServer, **changes: Any) -> Settings:
    """Two candidates, two checks, two iterations, one try of each call."""
    small = {"candidates": 2, "verifications": 2, "iterations": 2, "attempts": 1}
    return Settings.checked({"base_url": at.base_url, "early_stop": False, **small, **changes})


async def begun(
    folder: Path,
    file: Path,
    given: Settings,
    methods: Sequence[str] = METHODS,
    *,
    limit: int | None = None,
    limits: Mapping[str, Any] | None = None,
    shard: str = "1/1",
    watch: Watch | None = None,
    executor: Executor = HERE,
) -> RunStanding:
    """A run from its start."""
    source = source_of(str(file))
    found = source.load()
    names = chosen(found, limit=limit)
    plan = fresh(
        source, found, names, methods, given, limits=RunLimits(**(limits or {})), shard=shard
    )
    return await sitting.begin(folder, plan, found, watch=watch or Watch(), executor=executor)


async def gone_on(
    folder: Path, given: Settings, *, executor: Executor = HERE, **more: Any
) -> RunStanding:
    """A run that is resumed, with `more`."""
    return await sitting.go_on(folder, More(**more), given, executor=executor)


def run_ended_by(number: signal.Signals, file: str) -> tuple[int, str]:
    """Exit status and complaint of a `tmas run` to folder a, sent a signal within it."""
    small = ("-N", "2", "-M", "2", "-T", "2", "--set", "concurrency=2")
    running = subprocess.Popen(
        [sys.executable, "-m", "tmas_graph", "run", file, "--out", "a", *small],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    for line in running.stdout:  # until a problem is done
        if " calls" in line:
            break
    running.send_signal(number)
    _, complaint = running.communicate(timeout=120)
    return running.returncode, complaint


def rows(folder: Path) -> list[Row]:
    """Its rows in a fixed order, without the time they took."""
    found = run_rows.read(folder / run_rows.FILE)
    assert not found.notes
    lines = (folder / run_rows.FILE).read_text().splitlines()
    assert len(lines) == len(found.rows), "a row stands twice"
    return sorted((replace(row, seconds=0.0) for row in found.rows), key=lambda row: row.key)
