"""Sittings of `tmas run` in processes of their own, which are watched and killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.process_figures import descriptors, resident
from benchmarks.results import ROOT

_LOOK = 0.25
"""Seconds between two looks at the process."""
_MOST_SITTINGS = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """A look at the process of a run."""

    seconds: float
    """Since the sitting began."""
    finished: int
    """Problems that this sitting has finished."""
    megabytes: float
    descriptors: int


@dataclass(slots=True)
class Sitting:
    """One process, from its start until it ended or was killed."""

    samples: list[Sample] = field(default_factory=list)
    killed: float | None = None
    """When, in seconds since the epoch."""
    status: int = 0

    @property
    def finished(self) -> int:
        """Problems that it has finished."""
        return self.samples[-1].finished if self.samples else 0

    def most(self, name: str) -> float:
        """The most of a figure that was seen of it."""
        return max((getattr(sample, name) for sample in self.samples), default=0.0)


def sittings(folder: Path, begin: Sequence[str], kill_every: float) -> list[Sitting]:
    """Let the run in `folder` go on until it ends by itself with everything done.

    Args:
        folder: of the run.
        begin: the arguments of `tmas` with which it begins.
        kill_every: seconds after which a sitting is killed; 0: never.

    Raises:
        RuntimeError: a sitting failed for another reason than that some problems did.
    """
    made: list[Sitting] = []
    log = folder.with_suffix(".log")
    while len(made) < _MOST_SITTINGS:
        known = (folder / "run.json").exists()
        arguments = ["run", "--resume", str(folder)] if known else [*begin, "--out", str(folder)]
        made.append(sat(arguments, folder, log, kill_every))
        if made[-1].status == 0 and made[-1].killed is None:
            break
        if made[-1].status not in (0, 1, -signal.SIGKILL):
            raise RuntimeError(
                f"soak: `tmas {arguments[0]}` failed; the end of {log}:\n{_end(log)}"
            )
    return made


def sat(arguments: Sequence[str], folder: Path, log: Path, kill_after: float) -> Sitting:
    """One sitting; so many seconds after it has begun to work it is killed, if that isn't 0."""
    sitting, rows = Sitting(), _Rows(folder / "rows.jsonl")
    before, since, begun = rows.finished(), time.monotonic(), float("inf")
    with (
        log.open("a") as said,
        subprocess.Popen(
            [sys.executable, "-m", "tmas_graph", *arguments],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=ROOT,
        ) as process,
    ):  # fmt: skip
        size = log.stat().st_size
        while process.poll() is None:
            seconds = time.monotonic() - since
            if log.stat().st_size > size:  # it says how much there is to do
                begun = min(begun, seconds)
            if kill_after and seconds - begun > kill_after:
                os.kill(process.pid, signal.SIGKILL)
                sitting.killed = time.time()
                break
            try:
                found = (resident(process.pid), descriptors(process.pid))
                sitting.samples.append(Sample(seconds, rows.finished() - before, *found))
            except (OSError, IndexError):  # it has ended meanwhile
                break
            time.sleep(_LOOK)
        sitting.status = process.wait()
    return sitting


class _Rows:
    """Counts the problems that have ended, reading only what is new of the file."""

    def __init__(self, file: Path) -> None:
        self._file, self._read, self._count = file, 0, 0

    def finished(self) -> int:
        """How many by now; rows of failed problems count, too."""
        if not self._file.exists():
            return 0
        with self._file.open("rb") as rows:
            if os.fstat(rows.fileno()).st_size < self._read:  # it was written anew
                self._read = self._count = 0
            rows.seek(self._read)
            new = rows.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        self._count += sum(json.loads(row)["stop"] is not None for row in whole.splitlines())
        return self._count


def _end(log: Path) -> str:
    return "\n".join(log.read_text().splitlines()[-20:])
