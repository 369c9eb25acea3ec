"""What durability costs: processor time of a call, memory of a problem, bytes of a reply.

    python -m benchmarks.overhead [--problems 40] [--in-flight 100,1000] [--profile FILE]

A server in a process of its own answers with texts of realistic length. First TMAS solves the
problems with all that a run does; then plain asyncio makes the same calls over the same client,
with the same prompts, and keeps nothing. Each is measured in a fresh process. For memory, so many
calls are allowed that all problems are under way at once; what is shown is how much more the
process needed at most.

Time is measured twice. First each reply is a call of its own: that is the figure to set beside
other programs, and the goals hold for it: less than 4 ms a call, and 3 bytes for each of a reply
where one call asks for all checks of a candidate, as is usual. There a call has three replies on
average, and costs more.
"""

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.overhead_runs import Figures, Workload, durable, plain
from benchmarks.quick.process import quick_server
from benchmarks.results import add_json, written
from tmas_graph.evaluation.scheduling import AHEAD

MOST_MILLISECONDS = 4.0
MOST_BYTES = 3.0
_SHOWN = 30
LATENCY = 0.2
"""Seconds of each answer."""


def alone(work: Callable[..., Figures], *given: Any, **named: Any) -> Figures:
    """What `work` gives in a process of its own, whose memory holds nothing else."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        return executor.submit(work, *given, **named).result()


def pair(name: str, work: Workload, folder: Path, *, ahead: bool) -> Iterator[dict[str, Any]]:
    """The durable run and the plain one."""
    run = alone(durable, work, folder / name)
    yield _row(name, "durable", run)
    yield _row(name, "plain", alone(plain, work, folder / name, ahead=ahead))


def _row(name: str, way: str, found: Figures) -> dict[str, Any]:
    return {
        "measure": name,
        "way": way,
        **asdict(found),
        "ms_per_call": 1000 * found.cpu / found.calls,
        "ms_per_reply": 1000 * found.cpu / found.replies,
        "bank_ms_per_call": 1000 * found.bank_cpu / found.calls,
        "kb_per_problem": 1000 * found.megabytes / found.in_flight,
        "bytes_per_reply_byte": found.database / found.reply_bytes if way == "durable" else None,
    }


def table(rows: list[dict[str, Any]]) -> Table:
    """A row for each measure and way."""
    heads = ("measure", "calls by", "in flight", "calls", "ms CPU/call", "/reply")
    shown = Table(*heads, "+ bank's process", "MB more", "kB/problem", "bytes/reply byte")
    for row in rows:
        size = row["bytes_per_reply_byte"]
        shown.add_row(
            row["measure"],
            "TMAS, durable" if row["way"] == "durable" else "plain asyncio",
            str(row["in_flight"]),
            f"{row['calls']:,}",
            f"{row['ms_per_call']:.2f}",
            f"{row['ms_per_reply']:.2f}",
            f"{row['bank_ms_per_call']:.2f}",
            f"{row['megabytes']:.0f}",
            f"{row['kb_per_problem']:.0f}",
            "" if size is None else f"{size:.2f}",
        )
    return shown


def verdicts(rows: list[dict[str, Any]]) -> list[str]:
    """Whether the goals are met."""
    single, together = rows[0], rows[2]
    goals = (
        ("ms a call, each reply a call", single["ms_per_call"], MOST_MILLISECONDS),
        ("bytes a reply byte, checks together", together["bytes_per_reply_byte"], MOST_BYTES),
    )
    return [
        f"{'met' if value < most else 'MISSED'}: {value:.2f} {name}, less than {most:g} wanted"
        for name, value, most in goals
    ]


def profiled(work: Workload, folder: Path) -> str:
    """The functions of the event loop's thread that took most time of their own, as a table."""
    profile = cProfile.Profile(time.thread_time)
    found = profile.runcall(durable, work, folder)
    stats: Any = pstats.Stats(profile)
    rows = sorted(stats.stats.items(), key=lambda row: -row[1][2])[:_SHOWN]
    total = sum(own for _, _, own, _, _ in stats.stats.values())
    lines = [
        f"{found.calls} calls, {total:.1f} s of the event loop's thread under the profiler",
        "",
        "| own time | with what it calls | calls | function |",
        "|---|---|---|---|",
    ]
    for (file, line, name), (_, count, own, whole, _) in rows:
        place = f"{'/'.join(Path(file).parts[-2:])}:{line} {name}" if line else name
        lines.append(f"| {own:.2f} s | {whole:.2f} s | {count:,} | `{place}` |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=40, help="whose calls' time is measured")
    parser.add_argument("--in-flight", default="100,1000", help="problems; empty: none")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--verifications", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=2)
    parser.add_argument("--latency", type=float, default=LATENCY, help="seconds of each answer")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="write a profile there")
    add_json(parser)
    given = parser.parse_args()
    size = (given.candidates, given.verifications, given.iterations)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place, quick_server(latency=given.latency) as url:
        folder = Path(place)
        work = Workload(url, given.problems, *size)
        single = replace(work, together=False)
        rows += pair("each reply a call", single, folder, ahead=True)
        rows += pair("checks together", work, folder, ahead=True)
        for count in map(int, filter(None, given.in_flight.split(","))):
            wide = Workload(url, count, *size, concurrency=count * given.candidates // AHEAD + 1)
            rows += pair(f"{count} in flight", wide, folder, ahead=False)
        if given.profile:
            given.profile.write_text(profiled(work, folder / "profile"))
    console = Console(width=120)
    console.print(table(rows))
    console.print("\n".join(verdicts(rows)))
    written(given.json, "overhead", given, rows)


if __name__ == "__main__":
    main()
