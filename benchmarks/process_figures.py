"""Memory, descriptors and processor time of processes, as Linux tells them under /proc."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


def resident(pid: int | str = "self") -> float:
    """MB that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 1e6


def descriptors(pid: int | str = "self") -> int:
    """Files, sockets and pipes that a process has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def children_seconds() -> float:
    """Processor time of the processes that this one has started and that still run."""
    return sum(_seconds(pid) for pid in os.listdir("/proc") if pid.isdigit())


def _seconds(pid: str) -> float:
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:  # it has ended meanwhile
        return 0.0
    _, parent, *fields = rest.split()
    if int(parent) != os.getpid():
        return 0.0
    return (int(fields[9]) + int(fields[10])) / _TICK


@dataclass(slots=True)
class Peak:
    """Memory of this process, in MB."""

    before: float
    most: float


@contextmanager
def peak(every: float = 0.05) -> Iterator[Peak]:
    """Look at the memory of this process meanwhile."""
    found, ended = Peak(now := resident(), now), threading.Event()

    def look() -> None:
        while not ended.wait(every):
            found.most = max(found.most, resident())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()
