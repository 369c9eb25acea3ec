"""A log of model calls in a JSONL file, for runs whose state is kept elsewhere."""

import asyncio
import json
import logging
import os
import stat
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tmas_graph.errors import StorageError
from tmas_graph.models.calls import Call

_BLOCK = 1 << 16
_log = logging.getLogger(__name__)


class JsonlCalls:
    """Appends calls to a file, a JSON object a line, in the order in which they are noted.

    Every character that isn't ASCII is escaped, so that any reader splits the file into the same
    lines. For one process at a time.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file at `path`, or make it; a line that a crash cut short is taken out.

        Raises:
            StorageError: it can't be written, or holds something else.
        """
        self._path = Path(path)
        self._file = -1
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            self._mend()
        except OSError as error:
            if self._file >= 0:
                os.close(self._file)
            raise error if isinstance(error, StorageError) else self._unusable(error) from error
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tmas-calls")

    def note(self, call: Call) -> Awaitable[None]:
        """Take `call` in at once; what is returned, awaited, ends when it is in the file.

        Raises:
            StorageError: when awaited: the file can't be written.
        """
        # Shielded, or a cancelled caller would take its call out of the queue.
        return asyncio.shield(asyncio.wrap_future(self._writer.submit(self._append, call)))

    async def aclose(self) -> None:
        """Wait until all that was noted is in the file, then close it."""
        await asyncio.to_thread(self._writer.shutdown)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it, as `aclose` does."""
        await self.aclose()

    def _append(self, call: Call) -> None:
        line = json.dumps(call.plain(), default=str).encode() + b"\n"
        before = os.fstat(self._file)
        try:
            written = os.write(self._file, line)
            while written < len(line):  # the disk is nearly full, say
                written += os.write(self._file, line[written:])
        except OSError as error:
            if stat.S_ISREG(before.st_mode):
                os.ftruncate(self._file, before.st_size)
            raise self._unusable(error) from error

    def _mend(self) -> None:
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return
        last = self._after_the_last_newline(status.st_size)
        if not last:
            return
        start = b'{"id":'
        unfinished = start.startswith(last) or not last.strip(b"\0")  # a crash, or a power cut
        if not unfinished and not last.startswith(start):
            raise StorageError(
                f"{self._path}: its last line is no call ({last[:40]!r}). Give another file."
            )
        try:
            json.loads(last)
        except ValueError:
            os.ftruncate(self._file, status.st_size - len(last))
            _log.warning("%s: cut off its last line, which a crash left unfinished", self._path)
        else:
            os.write(self._file, b"\n")

    def _after_the_last_newline(self, size: int) -> bytes:
        found, start = b"", size
        while start and b"\n" not in found:
            length = min(_BLOCK, start)
            start -= length
            found = os.pread(self._file, length, start) + found
        return found.rpartition(b"\n")[2]

    def _unusable(self, error: OSError) -> StorageError:
        return StorageError(
            f"{self._path}: can't be written ({error.strerror}). "
            "Give another file, or see to its disk and its rights."
        )
