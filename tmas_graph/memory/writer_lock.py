"""One writer process per folder; the operating system frees it, however that process ends."""

import threading
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from tmas_graph.errors import StorageError

_FILE = "tmas.lock"


class WriterLock:
    """The right of this process to write to a folder; its parts may hold it several times."""

    _held: dict[Path, tuple[FileLock, int]] = {}  # noqa: RUF012  (of the process)
    _guard = threading.Lock()

    def __init__(self, file: Path) -> None:
        """Get one from `of`."""
        self._file = file

    @classmethod
    def of(cls, folder: Path, file: str = _FILE, wait: float = 0.0) -> Self:
        """The right to write to `folder`, which is made if it isn't there.

        Args:
            folder: where to.
            file: the lock's name in it.
            wait: seconds to wait for another process to give it back.

        Raises:
            StorageError: another process has it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with cls._guard:
            lock, users = cls._held.get(folder / file) or (_taken(folder / file, wait), 0)
            cls._held[folder / file] = lock, users + 1
        return cls(folder / file)

    def release(self) -> None:
        """Give it back; others in this process may still hold it."""
        with self._guard:
            lock, users = self._held.pop(self._file)
            if users > 1:
                self._held[self._file] = lock, users - 1
            else:
                lock.release()


def is_taken(folder: Path) -> bool:
    """Whether another process writes to `folder` now."""
    with WriterLock._guard:
        if folder / _FILE in WriterLock._held or not (folder / _FILE).exists():
            return False
        try:
            _taken(folder / _FILE).release()
        except (StorageError, OSError):
            return True
    return False


def second_writer(folder: Path) -> StorageError:
    """The error of who would write to `folder` while another process does."""
    return StorageError(
        f"memory: another process writes to {folder}. Wait for it, give another "
        "memory_folder, or let both use one Chroma server (memory_server)."
    )


def _taken(file: Path, wait: float = 0.0) -> FileLock:
    lock = FileLock(file, thread_local=False)
    try:
        if file.is_dir():
            raise StorageError(f"memory: {file} is a folder. Move it away.")
        lock.acquire(timeout=wait)
    except Timeout:
        raise second_writer(file.parent) from None
    return lock
