"""Killable, long-lived worker processes: one request at a time each, under a wall-clock limit.

A worker is started with the interpreter and this package alone, so the user's `__main__` is never
imported again and a script needs no guard. It is replaced when it is killed, when it dies and
after `RECYCLED_AFTER` requests. The pool is usable from any thread; `asyncio` callers go through
`WorkerPool.executor`, so that no loop ever waits.
"""

import atexit
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO

from tmas_graph.answers.verdict import Outcome, Verdict, error
from tmas_graph.answers.worker import read, write
from tmas_graph.errors import StorageError

MEMORY_MB = 1024
RECYCLED_AFTER = 2_000
START_SECONDS = 60.0
_WORTH_A_RETRY = 0.2
_ROOT = str(Path(__file__).parents[2])
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from tmas_graph.answers.worker import main; main()"
)
_OUTCOMES: dict[str, Outcome] = {
    outcome: outcome for outcome in ("correct", "incorrect", "unsure", "error")
}


class Worker:
    """One process and its two pipes; not for two threads at once."""

    def __init__(self) -> None:
        """Start the process.

        Raises:
            StorageError: it doesn't start.
        """
        self.served = 0
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, _ROOT, str(MEMORY_MB)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        if self._exchange(None, START_SECONDS) is None:
            self.close()
            raise StorageError(
                f"answers: the grading process doesn't start with {sys.executable} "
                f"(exit code {self._process.returncode}). Check that tmas-graph and python-flint "
                "import there."
            )

    def ask(self, request: Mapping[str, object], limit: float) -> Mapping[str, object] | None:
        """Send a request; None if it took too long or the process died. Then it is closed."""
        self.served += 1
        try:
            reply = self._exchange({**request, "limit": limit}, limit)
        except BaseException:  # Ctrl-C: a reply that comes later would answer the next request
            self.close()
            raise
        if reply is None or self.served >= RECYCLED_AFTER:
            self.close()
        return reply

    @property
    def alive(self) -> bool:
        """Can it take a request?"""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    def close(self) -> None:
        """End the process at once and collect it."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _open(pipe).close()
        self._process.wait()

    def _exchange(
        self, request: dict[str, object] | None, limit: float
    ) -> Mapping[str, object] | None:
        """Write, then read, while a timer stands ready to kill: then the read ends."""
        timer = threading.Timer(limit, self._process.kill)
        timer.daemon = True
        timer.start()
        try:
            if request is not None:
                write(_open(self._process.stdin), request)
            return read(_open(self._process.stdout))
        except (OSError, ValueError):
            return None
        finally:
            timer.cancel()


class WorkerPool:
    """A few workers, started when they are first needed."""

    def __init__(self, size: int | None = None) -> None:
        """Allow `size` workers at most; half of the processors where it is None."""
        self.size = size or max(2, min(8, (os.cpu_count() or 2) // 2))
        self._idle = list[Worker]()
        self._busy = set[Worker]()
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(self.size)
        self._executor: ThreadPoolExecutor | None = None
        self._owner = os.getpid()

    @property
    def executor(self) -> ThreadPoolExecutor:
        """The threads in which asyncio callers wait."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.size, thread_name_prefix="tmas-answers")
            return self._executor

    def decide(self, pred: str, gold: str, *, directed: bool, limit: float) -> Verdict:
        """Compare two normalised answers in a worker; `limit` counts from when one is free."""
        request = {"pred": pred, "gold": gold, "directed": directed}
        end = time.monotonic() + limit
        with self._free:
            reply = self._asked(request, limit)
            left = end - time.monotonic()
            if reply is None and left > _WORTH_A_RETRY * limit:  # it died early: perhaps by chance
                reply = self._asked(request, left)
                left = end - time.monotonic()
        if reply is None and left > _WORTH_A_RETRY * limit:
            return error("limit: the grading process died twice, probably out of memory")
        if reply is None:
            return error(f"limit: no verdict within {limit:g} s")
        steps = reply["steps"]
        assert isinstance(steps, list)
        return Verdict(
            _OUTCOMES[str(reply["outcome"])], str(reply["cause"]), tuple(map(str, steps))
        )

    def _asked(self, request: Mapping[str, object], limit: float) -> Mapping[str, object] | None:
        worker = self._taken()
        try:
            return worker.ask(request, limit)
        finally:
            self._returned(worker)

    def pids(self) -> list[int]:
        """Give the numbers of the processes that run now."""
        with self._lock:
            return [worker.pid for worker in (*self._idle, *self._busy) if worker.alive]

    def close(self) -> None:
        """End all workers; the pool can be used again, and starts others."""
        if self._owner != os.getpid():  # a forked child leaves its parent's workers alone
            return
        with self._lock:
            workers = [*self._idle, *self._busy]
            self._idle.clear()
            executor, self._executor = self._executor, None
        for worker in workers:
            worker.close()
        if executor:
            executor.shutdown(wait=False, cancel_futures=True)

    def _taken(self) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    self._busy.add(worker)
                    return worker
                worker.close()
        worker = Worker()
        with self._lock:
            self._busy.add(worker)
        return worker

    def _returned(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if worker.alive:
                self._idle.append(worker)


def _open(pipe: IO[bytes] | None) -> "IO[bytes]":
    assert pipe is not None
    return pipe


_pools = dict[int, WorkerPool]()


def pool() -> WorkerPool:
    """Give this process's pool; a forked child has one of its own."""
    own = _pools.get(os.getpid())
    if own is None:
        own = _pools.setdefault(os.getpid(), WorkerPool())
        atexit.register(own.close)
    return own
