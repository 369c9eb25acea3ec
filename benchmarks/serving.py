"""Servers of the benchmarks, each in a process of its own."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.results import ROOT


@contextmanager
def served(module: str, *arguments: str) -> Iterator[str]:
    """The base URL of the server that `python -m module` runs; it ends with this process at last.

    Raises:
        RuntimeError: it did not start.
    """
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError(f"{module}: it did not start; its standard error says why.")
            yield url
        finally:
            process.kill()


async def serve(protocol: Callable[[], asyncio.Protocol]) -> None:
    """Serve until standard input ends; the base URL goes to standard output."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    server = await loop.create_server(protocol, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await ended.wait()


def http(body: bytes, kind: str = "application/json", status: int = 200) -> bytes:
    """`body` as an answer of HTTP."""
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body
