"""What the harness of runs costs: calls per second, processor time per call, memory.

    python -m benchmarks.harness [--problems 100] [--methods A,B] [--in-flight 800] [--latency 8]

A server in a process of its own answers each request after `latency` seconds, long enough that so
many are in flight at the rate that one process reaches. It answers with the same short reply
and does as good as nothing else. Each method is run with all that a run does: limiter, database,
rows, grading, memory banks. Shown is the memory of this process when a fifth and when all of the
problems were done: it grows with what is in flight, not with what is finished.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import client
from benchmarks.serving import served
from tmas_graph import Settings
from tmas_graph.evaluation import sitting
from tmas_graph.evaluation.books import Watch
from tmas_graph.evaluation.planning import fresh
from tmas_graph.evaluation.problem_set import source_of
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.models import pool

LATENCY = 8.0
"""Seconds of each answer."""
_TICK = 0.1
"""Seconds between two looks at what is in flight."""


@dataclass
class Measure:
    """What one method did."""

    method: str
    calls: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    in_flight: int = 0
    """The most that were seen."""
    memory: list[float] = field(default_factory=list)
    """MB, whenever a problem ended."""

    def ended(self, rows: Sequence[Row]) -> None:
        """Look at the memory, now that a problem has ended."""
        self.memory.append(megabytes())

    async def look(self) -> None:
        """Look at what is in flight until cancelled."""
        while True:
            self.in_flight = max(self.in_flight, pool.load().in_flight)
            await asyncio.sleep(_TICK)


def megabytes() -> float:
    """Memory that this process has resident."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


async def measured(url: str, method: str, folder: Path, problems: Path, most: int) -> Measure:
    """Run `method` on all `problems`."""
    given = Settings.preset(
        "paper", base_url=url, model="noop", candidates=8, verifications=8, iterations=2,
        concurrency=most,
    )  # fmt: skip
    source, measure = source_of(str(problems)), Measure(method)
    found = source.load()
    labels = [f"{method}[candidates=64]" if method == "self-consistency" else method]
    plan = fresh(source, found, [problem.id for problem in found.problems], labels, given)
    since, cpu = time.perf_counter(), time.process_time()
    looking = asyncio.create_task(measure.look())
    standing = await sitting.begin(folder, plan, found, watch=Watch(ended=measure.ended))
    looking.cancel()
    measure.seconds, measure.cpu = time.perf_counter() - since, time.process_time() - cpu
    measure.calls = standing.purse.spent.calls
    await pool.close()
    return measure


def table(found: Sequence[Measure]) -> Table:
    """A row for each method."""
    shown = Table(
        "method", "calls", "calls/s", "ms CPU/call", "seen in flight", "MB at 1/5", "MB at the end"
    )
    for one in found:
        shown.add_row(
            one.method,
            f"{one.calls:,}",
            f"{one.calls / one.seconds:.0f}",
            f"{1000 * one.cpu / one.calls:.1f}",
            f"{one.in_flight}",
            f"{one.memory[len(one.memory) // 5]:.0f}",
            f"{one.memory[-1]:.0f}",
        )
    return shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--methods", default="self-consistency,tmas")
    parser.add_argument("--in-flight", type=int, default=800)
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds of each answer")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        client.LATENCY = options.latency
        asyncio.run(client.serve_noop())
        return
    with (
        tempfile.TemporaryDirectory() as place,
        served("benchmarks.harness", "--serve", f"--latency={options.latency}") as url,
    ):
        problems = Path(place) / "problems.jsonl"
        rows = (
            {"problem_id": f"p{i}", "question": f"What is {i} + x?", "answer": "42"}
            for i in range(options.problems)
        )
        problems.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        found = [
            asyncio.run(measured(url, name, Path(place) / name, problems, options.in_flight))
            for name in options.methods.split(",")
        ]
    Console(width=110).print(table(found))


if __name__ == "__main__":
    main()
