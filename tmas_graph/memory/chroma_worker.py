"""What the process that Chroma has to itself runs: it does what comes in over its connections.

The other side is `chroma_process`, which starts it.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from tmas_graph.errors import StorageError
from tmas_graph.memory.chroma_client import Client, load
from tmas_graph.memory.rows import Where
from tmas_graph.memory.writer_lock import WriterLock

KEY_BYTES = 32
"""Length of the key that comes in first, and without which nobody is served."""
SECONDS_TO_END = 10.0
"""In which a process that ends, or the one before it, finishes what it writes."""
_LOCK = "tmas-chroma.lock"
_WRITING = ("make", "describe", "put", "remove", "drop", "succeed")
"""What a client does that changes the store."""
_connecting = Lock()
"""Held while a client is made or closed: those of one folder share more than Chroma guards."""


def main() -> None:
    """Serve connections until the other side closes this one's input."""
    key = sys.stdin.buffer.read(KEY_BYTES)
    desks: list[Desk] = []
    with Listener(authkey=key) as listener:
        Thread(target=_accept, args=(listener, desks), daemon=True).start()
        sys.stdout.write(f"{listener.address}\n")  # which the other side reads
        sys.stdout.flush()
        sys.stdout = sys.stderr
        Thread(target=load, name="tmas-chroma-load", daemon=True).start()
        sys.stdin.buffer.read()
        for desk in list(desks):
            desk.close()  # when it has done what it is at


def _accept(listener: Listener, desks: list["Desk"]) -> None:
    while True:
        desks.append(Desk(listener.accept()))
        desks[:] = [desk for desk in desks if desk.open]
        Thread(target=desks[-1].serve, name="tmas-chroma", daemon=True).start()


class Desk:
    """One connection, and the client that it is served with."""

    def __init__(self, connection: Connection) -> None:
        """Serve nothing yet."""
        self.open = True
        self._connection = connection
        self._client: Client | None = None
        self._folder: Path | None = None
        self._lock: WriterLock | None = None
        self._busy = Lock()

    def serve(self) -> None:
        """Do what is asked for until the other side is gone."""
        with suppress(EOFError, OSError):
            while True:
                method, given = self._connection.recv()
                with self._busy:
                    answer = self._answer(method, given)
                self._connection.send(answer)
        self.close()

    def close(self) -> None:
        """Free what it holds."""
        with self._busy:
            self.open = False
            self._leave()

    def _answer(self, method: str, given: Sequence[Any]) -> tuple[str, Any]:
        """What `method` of the client gives for `given`, or what it raised."""
        try:
            if method in _WRITING:
                self._own()
            own: dict[str, Callable[..., Any]] = {"connect": self._enter, "close": self._leave}
            return "done", (own.get(method) or getattr(self._client, method))(*given)
        except StorageError as error:
            return "refused", str(error)
        except BaseException as error:  # a panic in Chroma's Rust is no Exception
            return "failed", (type(error).__name__, str(error))

    def _enter(self, where: Where) -> None:
        with _connecting:
            self._folder, self._client = where.path, Client(where)

    def _leave(self) -> None:
        client, lock = self._client, self._lock
        self._client = self._lock = None
        try:
            if client is not None:
                with _connecting:
                    client.close()
        finally:
            if lock is not None:
                lock.release()

    def _own(self) -> None:
        """Wait for the process of one that was killed, which may still finish a write."""
        if self._folder is not None and self._lock is None:
            self._lock = WriterLock.of(self._folder, _LOCK, SECONDS_TO_END)
