"""What a process that may be killed notes of its calls, so that a test knows what it had."""

import asyncio
import os
from pathlib import Path
from typing import Any

from langgraph.config import get_config

from tmas_graph.models.calls import Call
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt


def note_calls(file: Path) -> None:
    """From now on note in `file` each call that begins, each reply that comes, and time.

    A tick is 10 ms in which the process could run: one that a busy machine doesn't let run can
    store nothing. Call it in the event loop.
    """
    ask, log = EndpointClient.ask, os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    async def noted(self: EndpointClient, prompt: Prompt, asked: Ask, *note: Any) -> Call:
        thread = get_config()["configurable"]["thread_id"]
        os.write(log, f"asked {thread}:{asked.seed}\n".encode())
        call = await ask(self, prompt, asked, *note)
        os.write(log, f"came {thread}:{asked.seed}\n".encode())
        return call

    def tick() -> None:
        os.write(log, b"tick\n")
        asyncio.get_running_loop().call_later(0.01, tick)

    EndpointClient.ask = noted  # type: ignore[method-assign, assignment]
    tick()


def lines_of(file: Path) -> list[str]:
    """What was noted so far."""
    return file.read_text().splitlines() if file.exists() else []


def asked(noted: list[str]) -> set[str]:
    """The calls that began."""
    return {line.removeprefix("asked ") for line in noted if line.startswith("asked ")}


def came_in_time(noted: list[str]) -> set[str]:
    """The calls whose replies came 100 ms or more before the end."""
    ticks, calls = 0, set[str]()
    for line in reversed(noted):
        if line == "tick":
            ticks += 1
        elif ticks >= 10 and line.startswith("came "):
            calls.add(line.removeprefix("came "))
    return calls
