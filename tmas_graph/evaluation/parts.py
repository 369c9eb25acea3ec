"""Parts of a run, each a state folder of its own, which one process at a time works on.

They are there only while several processes do a run: before, the threads that may go on are
copied into them; after, all of theirs into the run's own database. So a run that has ended looks
the same wherever it was done, and one that was killed is gathered by whoever lets it go on.

Not covered: folders that the processes don't share, or whose file system has no locks.
"""

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from tmas_graph.errors import StorageError, ThreadBusy
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import thread_name, unusable
from tmas_graph.thread_copies import copy_threads, settle_memories, thread_names

_FOLDER, _GONE, _LOCK = "parts", ".gone", ".lock"
_MOST_JOBS = 32
"""In a part, of which a run may have thousands."""
_EACH = 8
"""About so many parts for each worker, so that all have something to do until the end."""
PATIENCE = 120.0
"""Seconds that an owner who is taken for dead may take to die."""
_LOOK = 0.1
"""Seconds between looks at a lock, which can't be waited for otherwise."""


@dataclass(frozen=True, slots=True)
class Part:
    """Jobs that are done in one folder."""

    name: str
    jobs: tuple[Job, ...]


def cut(jobs: Sequence[Job], workers: int) -> list[Part]:
    """Share `jobs` out to parts, in their order; names are new each time."""
    size = max(1, min(_MOST_JOBS, len(jobs) // (workers * _EACH)))
    sitting = secrets.token_hex(3)  # a worker of another sitting can't take these for its own
    return [
        Part(f"{sitting}-{start // size + 1:04d}", tuple(jobs[start : start + size]))
        for start in range(0, len(jobs), size)
    ]


def place_of(run: Path, part: str) -> Path:
    """The folder of a part."""
    return run / _FOLDER / part


def scatter(run: Path, parts: Sequence[Part]) -> None:
    """Make the folders of `parts`, with the threads that their jobs have already.

    Raises:
        StorageError: they can't be written.
    """
    known = thread_names(run)
    for part in parts:
        place = place_of(run, part.name)
        try:
            place.mkdir(parents=True)
        except OSError as error:
            raise unusable(place, error) from error
        names = {thread_name(job.method, job.problem) for job in part.jobs} & known
        if names:
            copy_threads(run, place, names)


@asynccontextmanager
async def held(run: Path, part: str, *, patience: float = PATIENCE) -> AsyncIterator[Path]:
    """Be the one owner of a part; whoever was before, and died, may take a while to be gone.

    Raises:
        ThreadBusy: another process has it, for longer than `patience` seconds.
        StorageError: it isn't there, or there are no locks.
    """
    place = place_of(run, part)
    if not place.is_dir():
        raise StorageError(
            f"run: {place} isn't there. Put the run's folder where all machines see it by the same "
            "path, or use --shard on each."
        )
    lock = FileLock(place.with_name(part + _LOCK), thread_local=False)
    end = asyncio.get_running_loop().time() + patience
    while not lock.is_locked:
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if asyncio.get_running_loop().time() > end:
                raise ThreadBusy(
                    f"run: another process still works on {place}. Wait for it, or stop it."
                ) from None
            await asyncio.sleep(_LOOK)
        except OSError as error:
            raise unusable(place, error) from error
    try:
        yield place
    finally:
        lock.release()


async def gather(run: Path, part: str, *, patience: float = PATIENCE) -> None:
    """Take the threads of a part into the run's database, and remove the part.

    Raises:
        ThreadBusy: another process works on it.
        StorageError: a database can't be used.
    """
    async with held(run, part, patience=patience) as place:
        await asyncio.to_thread(_take_in, run, place)


async def gather_all(run: Path, *, patience: float = PATIENCE) -> None:
    """Take in all parts that are there.

    Raises:
        ThreadBusy: another process works on one.
        StorageError: a database can't be used.
    """
    folder = run / _FOLDER
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if place.is_dir() and place.suffix != _GONE:
            await gather(run, place.name, patience=patience)
    if folder.is_dir():
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _take_in(run: Path, place: Path) -> None:
    copy_threads(place, run)
    names = thread_names(place)
    settle_memories(run, names, "memory")
    gone = place.with_suffix(_GONE)
    try:
        place.rename(gone)  # first: a half-deleted database must not be gathered again
    except OSError as error:
        raise unusable(place, error) from error
    shutil.rmtree(gone, ignore_errors=True)
