"""Accuracy by iteration and by token on the synthetic reasoner: TMAS, its ablations, its rivals.

    python -m benchmarks.scaling [--problems 60] [--grid-problems 40] [--seeds 1] [--to FOLDER]

Every method runs through the same engine as always, in memory and without a server, on problems
whose structure only the reasoner's skills know of. Written are `scaling.json` with every point,
and plots; printed are a table and, for each promise of the method, whether it holds. Runs that
`scaling.json` holds already, of the same settings, are taken from it.
"""

import argparse
import asyncio
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

from rich.console import Console

from benchmarks import curves, promises, scaling_plots
from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.play import Player
from benchmarks.reasoner.runs import Point, solved
from benchmarks.reasoner.skill import Skill
from tmas_graph.methods import METHODS
from tmas_graph.settings import Settings

AT_A_TIME = 6
"""Problems of one process: some wait for threads while others compute."""
CHUNK = 6
"""Runs that a process takes at once."""
GRIDS = {
    "epsilon": (0.0, 0.1, 0.4, 0.7, 1.0),
    "candidates": (2, 4, 12),
    "verifications": (1, 2, 4, 16),
}
NOISES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method under one kind of checks."""

    method: str
    noise: float = 0.0

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.method}, noise {self.noise:g}" if self.noise else self.method


@dataclass(frozen=True, slots=True)
class Size:
    """How large all runs are."""

    candidates: int = 6
    verifications: int = 6
    iterations: int = 8

    def settings(self, seed: int) -> Settings:
        """Those of one run: the published ones, but for its size."""
        return Settings.preset("paper", base_url="http://reasoner", seed=seed, **asdict(self))


@dataclass(frozen=True, slots=True)
class Job:
    """One run that is to be made."""

    entrant: Entrant
    problem: int
    seed: int
    size: Size

    @property
    def key(self) -> str:
        """Names it in the file of results."""
        size = self.size
        shape = f"N{size.candidates} M{size.verifications} T{size.iterations}"
        return f"{self.entrant.name} | {shape} | p{self.problem} | s{self.seed}"


def compared(size: Size) -> list[Entrant]:
    """TMAS, its ablations and all rivals; self-consistency with as many candidates as TMAS."""
    many = min(1024, size.candidates * size.iterations)
    names = [n for n in METHODS if n not in ("self-consistency", "chain-of-thought")]
    return [Entrant(name) for name in (*names, f"self-consistency[candidates={many}]")]


def gridded(size: Size) -> list[Entrant]:
    """TMAS with one setting changed, or with worse checks; not what TMAS is anyway."""
    own = {"epsilon": 0.2, **asdict(size)}
    grid = [
        Entrant(f"tmas[{name}={value}]")
        for name, values in GRIDS.items()
        for value in values
        if value != own[name]
    ]
    return grid + [Entrant("tmas", noise) for noise in NOISES]


def planned(size: Size, main: int, grid: int, seeds: int) -> Iterator[Job]:
    """All runs; grids are run on the first `grid` of the `main` problems."""
    for entrants, problems in ((compared(size), main), (gridded(size), grid)):
        for seed in range(seeds):
            for number in range(problems):
                yield from (Job(entrant, number, seed, size) for entrant in entrants)


def run_chunk(jobs: Sequence[Job]) -> list[list[Point]]:
    """Make these runs in this process."""
    return asyncio.run(_all_of(jobs))


async def _all_of(jobs: Sequence[Job]) -> list[list[Point]]:
    gate = asyncio.Semaphore(AT_A_TIME)

    async def one(job: Job) -> list[Point]:
        reasoner = Reasoner(Player(Skill().with_noise(job.entrant.noise)))
        async with gate:
            settings = job.size.settings(job.seed)
            return await solved(job.problem, job.entrant.method, settings, reasoner)

    return list(await asyncio.gather(*map(one, jobs)))


def all_runs(jobs: Sequence[Job], processes: int, file: Path) -> curves.Found:
    """Make the runs that `file` doesn't hold, several at a time, and keep them in it."""
    known = json.loads(file.read_text()) if file.exists() else {}
    missing = [job for job in jobs if job.key not in known]
    chunks = [missing[begin : begin + CHUNK] for begin in range(0, len(missing), CHUNK)]
    for done, (chunk, made) in enumerate(_made(chunks, processes), 1):
        pairs = zip(chunk, made, strict=True)
        known |= {job.key: [asdict(point) for point in run] for job, run in pairs}
        if done % 5 == 0 or done == len(chunks):
            _write(file, known)
            print(f"{done} of {len(chunks)} parts", flush=True)
    return by_name((job, [Point(**point) for point in known[job.key]]) for job in jobs)


def _made(
    chunks: Sequence[Sequence[Job]], processes: int
) -> Iterator[tuple[Sequence[Job], list[list[Point]]]]:
    """Each chunk with its runs, as they come; a single process is this one."""
    if processes == 1:
        yield from ((chunk, run_chunk(chunk)) for chunk in chunks)
        return
    # Forking would take the threads of Chroma and numpy along, in whatever state they are.
    context, quiet = get_context("spawn"), (logging.WARNING,)
    with ProcessPoolExecutor(processes, context, logging.disable, quiet) as pool:
        running = {pool.submit(run_chunk, chunk): chunk for chunk in chunks}
        yield from ((running[future], future.result()) for future in as_completed(running))


def by_name(runs: Iterable[tuple[Job, list[Point]]]) -> curves.Found:
    """Runs by entrant and problem."""
    found: dict[str, dict[str, list[list[Point]]]] = {}
    for job, run in runs:
        mine = found.setdefault(job.entrant.name, {})
        mine.setdefault(f"p{job.problem}", []).append(run)
    return found


def _write(file: Path, known: object) -> None:
    beside = file.with_suffix(".part")
    beside.write_text(json.dumps(known))
    beside.replace(file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, default=60, help="for the comparison of methods")
    parser.add_argument("--grid-problems", type=int, default=40, help="for the grids")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--candidates", type=int, default=Size().candidates, help="N")
    parser.add_argument("--verifications", type=int, default=Size().verifications, help="M")
    parser.add_argument("--iterations", type=int, default=Size().iterations, help="T")
    parser.add_argument("--only", default="", help="entrants whose names match this expression")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--to", type=Path, default=Path("scaling"), help="folder of the results")
    return parser.parse_args()


def main() -> None:
    """Run, print and draw."""
    options, began = _options(), perf_counter()
    options.to.mkdir(parents=True, exist_ok=True)
    size = replace(
        Size(),
        candidates=options.candidates,
        verifications=options.verifications,
        iterations=options.iterations,
    )
    grid = min(options.problems, options.grid_problems)
    jobs = list(planned(size, options.problems, grid, options.seeds))
    jobs = [job for job in jobs if re.search(options.only, job.entrant.name)]
    found = all_runs(jobs, options.processes, options.to / "scaling.json")
    console = Console(width=120)
    console.print(curves.table(found))
    kept = promises.judged(found, NOISES)
    console.print(promises.table(kept))
    (options.to / "promises.json").write_text(json.dumps([asdict(one) for one in kept], indent=1))
    rivals = [entrant.name for entrant in compared(size)]
    scaling_plots.draw_all(found, rivals, GRIDS, NOISES, size, options.to)
    print(f"{len(jobs)} runs, {perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
