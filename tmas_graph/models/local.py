"""The local server: llama.cpp behind an OpenAI-compatible URL, for when no endpoint is set.

The server is started when first asked for, once per process, model and options, and is stopped at
exit. It takes at most `slots` choices per call (`n`), and answers what it can't run in time later,
not with an error. Its weights come from `weights`.
"""

import asyncio
import atexit
import importlib.util
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tmas_graph.errors import EndpointDown, MissingExtra, SettingsError
from tmas_graph.models import weights
from tmas_graph.models.weights import DEFAULT_MODEL, LocalModel, Progress, no_progress

logger = logging.getLogger(__name__)

WORKER = Path(__file__).with_name("local_worker.py")
STOP_SECONDS = 5.0
ERROR_LINE = re.compile(r"[\d.]+ E (?:\w+ +)?(.+)")
"""In llama.cpp's log: time, letter of the level, part of the program, text."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a local server runs."""

    slots: int = 4
    """Replies generated at once, and the most choices that one call may ask for."""
    context: int = 4096
    """Tokens per slot, prompt and reply together; llama.cpp caps it at what the model was made for.

    Memory for all slots is taken at the start: 23 kB a token with the default model.
    """
    threads: int | None = None
    """Processor threads; None: as many as this process may use, less one for all else.

    llama.cpp's threads wait for each other at every layer, spinning: where one of them has to share
    its core all are slowed, several times over.
    """
    cache_mib: int = 512
    """Memory, MiB, for prompts kept for a later call that begins alike."""

    def __post_init__(self) -> None:
        """Refuse what llama.cpp would fail on without a reason."""
        for name, least in (("slots", 1), ("context", 1), ("cache_mib", 0), ("threads", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise SettingsError(f"{name}: {value} is below {least}. Give {least} or more.")


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that runs."""

    base_url: str
    """With the /v1 at its end; on 127.0.0.1, and needs no key."""
    model: str
    """The name to send as `model`, and what /v1/models says."""
    context: int
    """Tokens that prompt and reply share."""
    slots: int
    """Replies generated at once, and the most choices that one call may ask for."""


@dataclass(frozen=True, slots=True)
class _Running:
    server: LocalServer
    process: subprocess.Popen[str]


_running: dict[tuple[LocalModel, ServerOptions], _Running] = {}
_lock = threading.Lock()


def start(
    reference: str = DEFAULT_MODEL,
    options: ServerOptions | None = None,
    *,
    folder: Path | None = None,
    progress: Progress = no_progress,
) -> LocalServer:
    """Return the running server of a model, fetched and started first where need be; blocks.

    Raises:
        MissingExtra: xllamacpp isn't installed; said before anything is fetched.
        EndpointDown: the model could not be fetched or loaded.
        SettingsError, StorageError: as from `weights.resolve`.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise MissingExtra(
            "xllamacpp isn't installed, and a local model needs it. "
            'Run: pip install "tmas-graph[local]", or give the URL of an endpoint.'
        )
    with _lock:
        model = weights.resolve(reference, folder=folder, progress=progress)
        key = (model, options or ServerOptions())
        if key in _running and _running[key].process.poll() is not None:
            logger.warning("the local server of %s died; starting it again", model.name)
            _stop(_running.pop(key).process)
        if key not in _running:
            _running[key] = _launch(*key)
        return _running[key].server


async def serve(
    reference: str = DEFAULT_MODEL,
    options: ServerOptions | None = None,
    *,
    folder: Path | None = None,
    progress: Progress = no_progress,
) -> LocalServer:
    """Do what `start` does in a thread, without blocking the event loop."""
    return await asyncio.to_thread(start, reference, options, folder=folder, progress=progress)


def stop() -> None:
    """Stop every local server that this process started; calls in flight fail."""
    with _lock:
        for running in _running.values():
            _stop(running.process)
        _running.clear()


atexit.register(stop)


def _launch(model: LocalModel, options: ServerOptions) -> _Running:
    with tempfile.TemporaryFile() as log:  # the server goes on writing to it
        process = subprocess.Popen(
            _command(model, options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        said = _first_line(process)
        if said is None:
            raise EndpointDown(
                f"{model.path}: llama.cpp could not serve it ({_reason(log, process)}). Check that "
                "the file is whole and its architecture one that this xllamacpp knows "
                "(`pip install -U xllamacpp`), or lower the context or the slots."
            )
    server = LocalServer(f"{said['url']}/v1", model.name, said["context"], options.slots)
    logger.info("serving %s at %s, %d tokens a slot", model.path, server.base_url, server.context)
    return _Running(server, process)


def _command(model: LocalModel, options: ServerOptions) -> list[str]:
    given = {
        "path": str(model.path),
        "name": model.name,
        "slots": options.slots,
        "context": options.context,
        "threads": options.threads or _spare_processors(),
        "cache_mib": options.cache_mib,
    }
    # -P: the folder of the worker must not come before the packages that it imports
    return [sys.executable, "-P", str(WORKER), json.dumps(given)]


def _spare_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    return max(1, usable - 1)


def _first_line(process: subprocess.Popen[str]) -> dict[str, Any] | None:
    """Wait until the server serves; None if it ended before, and nothing of it is left then."""
    assert process.stdout is not None
    line = ""
    try:
        with process.stdout:
            line = process.stdout.readline()
    finally:
        if not line:
            _stop(process)
    return json.loads(line) if line else None


def _reason(log: IO[bytes], process: subprocess.Popen[str]) -> str:
    """Give llama.cpp's own words for why it ended."""
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    errors = [match[1] for line in lines if (match := ERROR_LINE.match(line))]
    return (errors[:1] or lines[-1:] or [f"exit status {process.returncode}"])[0]


def _stop(process: subprocess.Popen[str]) -> None:
    """End the worker: it leaves when its standard input ends, and is killed if it doesn't."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
