"""A scripted server in a process of its own, and the command line that it is started with."""

import argparse
import asyncio
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from endpoints import scripted
from endpoints.behaviour import Behaviour
from endpoints.faults import catalogue
from endpoints.faults.mix import evenly, mix
from endpoints.journal import read_log
from endpoints.protocol import Request
from endpoints.reasoner import Reasoner


@dataclass
class ServerProcess:
    """A server in a process of its own, inside `with`; it ends with its parent at the latest."""

    log: Path
    options: Sequence[str] = ()
    """As on the command line, e.g. ("--latency", "0.05")."""
    base_url: str = ""
    """What a client takes."""
    process: "subprocess.Popen[str] | None" = None

    def __enter__(self) -> Self:
        command = [sys.executable, scripted.__file__, "--log", str(self.log), "--until-stdin-ends"]
        self.process = subprocess.Popen(
            [*command, *self.options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if self.process.stdout:
            self.base_url = self.process.stdout.readline().strip()
        if not self.base_url:
            self.__exit__()
            raise RuntimeError("scripted.py: it did not start; its standard error says why.")
        return self

    def __exit__(self, *error: object) -> None:
        if self.process:
            with self.process:
                self.process.kill()

    def kill(self) -> None:
        """Kill it by signal 9, and wait until it is dead."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def requests(self) -> list[Request]:
        """What it was asked up to now."""
        return read_log(self.log)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=scripted.__doc__, prog="scripted.py")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--model", action="append", help="repeat it for several")
    parser.add_argument("--key")
    parser.add_argument("--choices", choices=["honoured", "ignored", "short", "more", "refused"])
    parser.add_argument(
        "--thinking", choices=["reasoning", "reasoning_content", "inline", "inline_unopened"]
    )
    parser.add_argument(
        "--usage", choices=["whole", "first_choice", "bare", "cached", "null", "none"]
    )
    parser.add_argument("--tokenize", action="store_const", const=True)
    parser.add_argument("--context", type=int, help="tokens; longer requests are refused")
    parser.add_argument("--fault-rate", type=float, default=0.0, help="share of requests")
    parser.add_argument("--fault-seed", type=int, default=0)
    parser.add_argument("--fault", action="append", help="its name; repeat it for several")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds, for each request")
    parser.add_argument("--jitter", type=float, default=0.0, help="up to so many seconds more")
    parser.add_argument("--right", default="42", help="the right answer")
    parser.add_argument("--chance", type=float, default=0.6, help="of the right answer")
    parser.add_argument("--short", action="store_true", help="short replies")
    parser.add_argument("--until-stdin-ends", action="store_true")
    return parser.parse_args()


def _behaviour(options: argparse.Namespace) -> Behaviour:
    script = Reasoner(right=options.right, chance=options.chance)
    given = {
        name: value
        for name in ("key", "choices", "thinking", "usage", "tokenize", "context")
        if (value := getattr(options, name)) is not None
    }

    faults = [catalogue.BY_NAME[name] for name in options.fault or ()] or catalogue.QUICK

    def latency(request: Request) -> float:
        share = int(request.draw(0, "latency")[:8], 16) / 2**32
        return float(options.latency + options.jitter * share)

    return replace(
        scripted.DEFAULT,
        script=script.short() if options.short else script,
        models=tuple(options.model or scripted.DEFAULT.models),
        latency=latency,
        fault=mix(options.fault_seed, evenly(options.fault_rate, faults)),
        **given,
    )


def main() -> None:
    """Serve as the command line says, until a signal (or, if it says so, the end of stdin)."""
    asyncio.run(_serve(_options()))


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.until_stdin_ends:
        loop.add_reader(sys.stdin.fileno(), stop.set)
    async with scripted.ScriptedServer(
        _behaviour(options), port=options.port, log=options.log
    ) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await stop.wait()
