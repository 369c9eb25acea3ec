"""How long a run takes over the least that it can take: how well the endpoint is kept busy.

    python -m benchmarks.makespan [--problems 40] [-N 8] [-M 8] [-T 4] [--capacity 64]
        [--sigma 0.8] [--stages 1]

A server in a process of its own answers each request after a time that its seed decides: log-normal
with mean 1 s, so that a few replies take very long. At most `capacity` are in flight. No schedule
is faster than the total of all times over the capacity, nor than the longest chain of calls that
wait for each other. Two ways to do the same calls are held against that bound, in one run:

- tmas run: with limiter, database, rows, grading and both memories
- stages: all solutions of an iteration, then all checks, then all summaries, then the memories, as
  published harnesses work; bare HTTP, nothing is stored. It does the calls of the first
  `--stages` iterations, and is held against the bound of those
"""

import argparse
import asyncio
import json
import random
import re
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import aiohttp
from rich.console import Console
from rich.table import Table

from benchmarks import client
from benchmarks.results import add_json, written
from benchmarks.serving import served
from tmas_graph import Settings
from tmas_graph.evaluation import sitting
from tmas_graph.evaluation.planning import fresh
from tmas_graph.evaluation.problem_set import source_of
from tmas_graph.models import pool

_SEED = re.compile(rb'"seed": ?(\d+)')
_CALLS = "SELECT thread, iteration, role, candidate, seed FROM tmas_calls WHERE replies > 0"
STAGES = ("solution", "verification", "summary")
MEMORIES = ("experience", "guideline")


def drawn(seed: int, sigma: float) -> float:
    """The seconds that the request with this seed takes; their mean is 1."""
    return random.Random(seed).lognormvariate(-(sigma**2) / 2, sigma)


@dataclass(frozen=True, slots=True)
class Made:
    """A call as it stands in the database."""

    thread: str
    iteration: int
    role: str
    candidate: int
    seed: int


@dataclass(frozen=True, slots=True)
class Bound:
    """What no schedule can beat, in seconds."""

    work: float
    """All times over the capacity."""
    chain: float
    """The longest chain of calls that wait for each other."""

    @property
    def seconds(self) -> float:
        """The bound."""
        return max(self.work, self.chain)


def bound_of(calls: Iterable[Made], capacity: int, sigma: float) -> Bound:
    """The bound for `calls`, each of which takes what its seed draws."""
    total, slowest = 0.0, defaultdict[tuple[str, int, int, str], float](float)
    for call in calls:
        seconds = drawn(call.seed, sigma)
        total += seconds
        key = (call.thread, call.iteration, call.candidate, call.role)
        slowest[key] = max(slowest[key], seconds)
    candidates, memories = defaultdict[tuple[str, int, int], float](float), dict(slowest)
    for (thread, iteration, candidate, role), seconds in slowest.items():
        if role in STAGES:  # one after another
            candidates[thread, iteration, candidate] += seconds
            del memories[thread, iteration, candidate, role]
    chains = defaultdict[str, float](float)
    for parts, width in ((candidates, 2), (memories, 2)):
        longest = defaultdict[tuple[object, ...], float](float)
        for key, seconds in parts.items():  # side by side
            longest[key[:width]] = max(longest[key[:width]], seconds)
        for (thread, _), seconds in longest.items():
            chains[str(thread)] += seconds
    return Bound(total / capacity, max(chains.values()))


async def run(url: str, folder: Path, options: argparse.Namespace) -> float:
    """The seconds of `tmas run`."""
    given = Settings.preset(
        "paper", base_url=url, model="noop", candidates=options.N, verifications=options.M,
        iterations=options.T, concurrency=options.capacity, multiple_replies=False,
        early_stop=False,
    )  # fmt: skip
    problems = folder.with_suffix(".jsonl")
    rows = (
        {"problem_id": f"p{i}", "question": f"What is {i} + x?", "answer": "42"}
        for i in range(options.problems)
    )
    problems.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    source = source_of(str(problems))
    found = source.load()
    plan = fresh(source, found, [problem.id for problem in found.problems], ["tmas"], given)
    began = time.perf_counter()
    await sitting.begin(folder, plan, found)
    seconds = time.perf_counter() - began
    await pool.close()
    return seconds


def calls_in(folder: Path) -> list[Made]:
    """The calls of the run in `folder`."""
    with closing(sqlite3.connect(folder / "tmas.sqlite")) as database:
        return [Made(*row) for row in database.execute(_CALLS)]


async def in_stages(url: str, calls: Sequence[Made], capacity: int) -> float:
    """The seconds of the same calls, stage by stage."""
    stages = defaultdict[tuple[int, int], list[Made]](list)
    for call in calls:
        place = STAGES.index(call.role) if call.role in STAGES else len(STAGES)
        stages[call.iteration, place].append(call)
    limit = asyncio.Semaphore(capacity)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(call: Made) -> None:
            body = {"seed": call.seed}
            async with limit, session.post(f"{url}/chat/completions", json=body) as got:
                await got.read()

        began = time.perf_counter()
        for _, stage in sorted(stages.items()):
            await asyncio.gather(*map(ask, stage))
        return time.perf_counter() - began


@dataclass(frozen=True, slots=True)
class Measured:
    """What came of both ways."""

    calls: int
    work: float
    chain: float
    tmas: float
    stages: float
    stages_bound: float
    """That of the iterations that were done in stages."""

    @property
    def bound(self) -> float:
        """What no schedule can beat, in seconds."""
        return max(self.work, self.chain)


async def measured(url: str, place: Path, options: argparse.Namespace) -> Measured:
    """Do it both ways."""
    tmas = await run(url, place / "run", options)
    calls = calls_in(place / "run")
    bound = bound_of(calls, options.capacity, options.sigma)
    first = [call for call in calls if call.iteration < options.stages]
    stages = await in_stages(url, first, options.capacity)
    least = bound_of(first, options.capacity, options.sigma).seconds
    return Measured(len(calls), bound.work, bound.chain, tmas, stages, least)


def table(found: Measured) -> Table:
    """Both ways beside the bound."""
    shown = Table("", "seconds", "bound / seconds", title=f"{found.calls:,} calls")
    shown.add_row("all times over the capacity", f"{found.work:.1f}", "")
    shown.add_row("longest chain", f"{found.chain:.1f}", "")
    for name, seconds, bound in (
        ("tmas run", found.tmas, found.bound),
        ("stages", found.stages, found.stages_bound),
    ):
        shown.add_row(name, f"{seconds:.1f}", f"{bound / seconds:.3f}")
    return shown


async def serve(sigma: float) -> None:
    """Serve until standard input ends."""

    def seconds(body: bytes) -> float:
        seed = _SEED.search(body)
        return drawn(int(seed[1]), sigma) if seed else 0.0

    client.NoopServer.latency = staticmethod(seconds)
    await client.serve_noop()


def main(arguments: Sequence[str] | None = None) -> Measured | None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=40)
    parser.add_argument("-N", type=int, default=8)
    parser.add_argument("-M", type=int, default=8)
    parser.add_argument("-T", type=int, default=4)
    parser.add_argument("--capacity", type=int, default=64)
    parser.add_argument("--sigma", type=float, default=0.8, help="of the times' logarithm")
    parser.add_argument("--stages", type=int, default=1, help="iterations done in stages, too")
    add_json(parser)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        asyncio.run(serve(options.sigma))
        return None
    with (
        tempfile.TemporaryDirectory() as place,
        served("benchmarks.makespan", "--serve", f"--sigma={options.sigma}") as url,
    ):
        found = asyncio.run(measured(url, Path(place), options))
    Console(width=100).print(table(found))
    written(options.json, "makespan", options, asdict(found) | {"bound": found.bound})
    return found


if __name__ == "__main__":
    main()
