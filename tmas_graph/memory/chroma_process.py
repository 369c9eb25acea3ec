"""Chroma in a process of its own: it lets no other Python run in its process while it writes.

One such process serves all stores of this one, each over a connection of its own, and ends with
it, however it ends. `chroma_worker` is what it runs.
"""

import atexit
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from multiprocessing.connection import Client as connected_to
from multiprocessing.connection import Connection
from os import getpid, urandom
from threading import Lock, Thread
from typing import IO, Any, cast

from tmas_graph.errors import StorageError
from tmas_graph.memory import chroma_worker
from tmas_graph.memory.chroma_client import Client
from tmas_graph.memory.rows import Where

_BEGIN = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
_BEGIN += f"from {chroma_worker.__name__} import main; main()"


class ChromaError(Exception):
    """What Chroma raised in its process."""

    def __init__(self, kind: str, said: str) -> None:
        """Keep the name of its class, and what it said."""
        super().__init__(said)
        self.kind = kind


class ProcessLost(Exception):
    """The process ended by itself, or was killed; another one can be asked."""


def connect(where: Where) -> Client:
    """The collections of the store at `where`, as a client in a process of its own.

    Its methods raise `ChromaError` for what Chroma raises, and `ProcessLost`.
    """
    return cast(Client, _Remote(where))


def begin() -> None:
    """Let the process load Chroma meanwhile, so that who connects needn't wait for it."""
    Thread(target=_process_of(getpid()).begin, name="tmas-chroma-begin", daemon=True).start()


class _Remote:
    """Asks for what a `Client` does; for one thread at a time."""

    def __init__(self, where: Where) -> None:
        self._process = _process_of(getpid())
        self._connection = self._process.connected()
        try:
            # Its working directory is the one that this process had when it began.
            self._ask("connect", replace(where, folder=str(where.path) if where.path else None))
        except BaseException:
            self._connection.close()
            raise

    def __getattr__(self, method: str) -> Callable[..., Any]:
        return partial(self._ask, method)

    def close(self) -> None:
        """Free what is held there."""
        with suppress(ProcessLost):
            self._ask("close")
        self._connection.close()

    def _ask(self, method: str, *given: Any) -> Any:
        try:
            self._connection.send((method, given))
            outcome, answer = self._connection.recv()
        except (EOFError, OSError) as error:
            self._connection.close()
            raise ProcessLost(self._process.last_words()) from error
        if outcome == "refused":
            raise StorageError(answer)
        if outcome == "failed":
            raise ChromaError(*answer)
        return answer


class _Process:
    """The process, started when it is first needed, and anew after it was lost."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None
        self._address, self._key = "", b""

    def begin(self) -> None:
        """Start it, if it doesn't run; who connects is told why it doesn't."""
        with suppress(ProcessLost), self._guard:
            self._start()

    def connected(self) -> Connection:
        """A new connection to it."""
        with self._guard:
            self._start()
            try:
                return connected_to(self._address, authkey=self._key)
            except (EOFError, OSError) as error:
                raise ProcessLost(self.last_words()) from error

    def last_words(self) -> str:
        """How it ended, with the last line that it wrote."""
        if self._running is None or self._said is None:
            return "it wasn't started"
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(1)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return ": ".join([f"exit code {self._running.returncode}", *lines[-1:]])

    def end(self) -> None:
        """Let it finish, and end."""
        with self._guard:
            self._drop()

    def _drop(self) -> None:
        if self._running is not None:
            _closed(self._running)
        if self._said is not None:
            self._said.close()
        self._running = self._said = None

    def _start(self) -> None:
        if self._running is not None and self._running.poll() is None:
            return
        self._drop()
        self._key, self._said = urandom(chroma_worker.KEY_BYTES), tempfile.TemporaryFile()  # noqa: SIM115
        self._running = subprocess.Popen(
            [sys.executable, "-P", "-c", _BEGIN, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            process_group=0,  # a Ctrl-C in the terminal doesn't reach it
        )
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        with suppress(BrokenPipeError):
            self._running.stdin.write(self._key)
            self._running.stdin.flush()
        self._address = self._running.stdout.readline().decode().strip()
        if not self._address:
            raise ProcessLost(self.last_words())


def _closed(process: subprocess.Popen[bytes]) -> None:
    """Close its input, which ends it, and wait."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    try:
        process.wait(chroma_worker.SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@cache
def _process_of(pid: int) -> _Process:
    """The one of this process; what is forked from it needs another."""
    process = _Process()
    atexit.register(process.end)
    return process
