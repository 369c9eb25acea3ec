"""Makes the runs of the curves in several processes, and keeps each as it ends.

The file has a line of JSON for each run, so that a run that was made is never made again, whatever
ended the command; a last line that was cut off is a run that wasn't made.
"""

import asyncio
import gc
import json
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import asdict
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

from benchmarks.arms import Job
from benchmarks.reasoner.direct import Reasoner
from benchmarks.reasoner.play import Player
from benchmarks.reasoner.runs import Made, made_of, solved
from benchmarks.reasoner.skill import Skill

AT_A_TIME = 6
"""Problems of one process: some wait for threads while others compute."""
CHUNK = 6
"""Runs that a process takes at once."""
_OBJECTS = 100_000
"""New ones before the collector looks for cycles: a run of the graph makes many that stay."""
_Part = tuple[Sequence[Job], list[Made]]


def run_chunk(jobs: Sequence[Job]) -> list[Made]:
    """Make these runs in this process."""
    return asyncio.run(_all_of(jobs))


async def _all_of(jobs: Sequence[Job]) -> list[Made]:
    gate = asyncio.Semaphore(AT_A_TIME)

    async def one(job: Job) -> Made:
        reasoner = Reasoner(Player(Skill().with_noise(job.entrant.noise)))
        async with gate:
            settings = job.size.settings(job.seed)
            return await solved(job.problem, job.entrant.method, settings, reasoner)

    return list(await asyncio.gather(*map(one, jobs)))


def all_runs(
    jobs: Sequence[Job], processes: int, file: Path, *, seconds: float | None = None
) -> dict[Job, Made]:
    """Make the runs that `file` doesn't hold; after `seconds`, none is begun any more.

    Given are those that are there then.
    """
    known = kept(file)
    missing = [job for job in jobs if job.key not in known]
    chunks = [missing[begin : begin + CHUNK] for begin in range(0, len(missing), CHUNK)]
    with file.open("a") as out:
        for done, (chunk, made) in enumerate(_made(chunks, processes, seconds), 1):
            for job, run in zip(chunk, made, strict=True):
                out.write(json.dumps({"key": job.key, **asdict(run)}) + "\n")
                known[job.key] = run
            out.flush()
            if done % 10 == 0 or done == len(chunks):
                print(f"{done} of {len(chunks)} parts", flush=True)
    return {job: known[job.key] for job in jobs if job.key in known}


def kept(file: Path) -> dict[str, Made]:
    """The runs that `file` holds, by their keys; a line that was cut off is taken out of it."""
    if not file.exists():
        return {}
    whole, _, rest = file.read_text().rpartition("\n")
    if rest:
        file.write_text(whole + "\n" if whole else "")
    rows = map(json.loads, whole.splitlines())
    return {row.pop("key"): made_of(row) for row in rows}


def _made(
    chunks: Sequence[Sequence[Job]], processes: int, seconds: float | None
) -> Iterator[_Part]:
    """Each chunk with its runs, as they come; a single process is this one."""
    end = None if seconds is None else monotonic() + seconds
    begun = (chunk for chunk in chunks if end is None or monotonic() < end)
    if processes == 1:
        yield from ((chunk, run_chunk(chunk)) for chunk in begun)
        return
    # A process a core is enough: threads of numpy's would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Forking would take the threads of Chroma and numpy along, in whatever state they are.
    with ProcessPoolExecutor(processes, get_context("spawn"), _settle) as pool:
        running = {pool.submit(run_chunk, chunk): chunk for chunk in islice(begun, processes)}
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
                running |= {pool.submit(run_chunk, chunk): chunk for chunk in islice(begun, 1)}


def _settle() -> None:
    """Make a process ready for many runs."""
    logging.disable(logging.WARNING)
    gc.set_threshold(_OBJECTS, 20, 50)
