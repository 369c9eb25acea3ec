"""A real Chroma server in a process of its own, for tests."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

_RUN = "from chromadb.cli.cli import app; app()"

pid_of: dict[str, int] = {}
"""The process behind a URL."""


@contextmanager
def chroma_server(folder: Path) -> Iterator[str]:
    """Serve what is in `folder`; its URL."""
    port = free_port()
    place = ["--path", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-c", _RUN, "run", *place],
        cwd=folder.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(url):
            assert process.poll() is None, "chroma run has ended"
            time.sleep(0.05)
        pid_of[url] = process.pid
        yield url
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    """A port of 127.0.0.1 at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port: int = one.getsockname()[1]
    return port


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/v2/heartbeat", timeout=5).is_success
    except httpx.HTTPError:
        return False
