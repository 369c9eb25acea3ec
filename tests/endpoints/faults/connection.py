"""Faults of the connection: late, slow, hanging, broken off. For plain and streamed answers.

A place is "before_headers", "after_headers" or "midway": in a stream after `chunks` events, in a
plain answer after half of the body.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import get_args

from endpoints.delivery import Answer, Gate, Place, Signal, Step
from endpoints.fault import Fault

PLACES: tuple[Place, ...] = get_args(Place)


async def never() -> None:
    """Wait until the client leaves or the server stops; either cancels this."""
    await asyncio.Event().wait()


def held(gate: Gate, where: Place = "before_headers", *, chunks: int = 2) -> Fault:
    """Wait for `gate`, e.g. `event.wait` of an event in the server's loop, then go on."""
    return Fault(
        name=f"held_{where}",
        harmless=True,
        answer=lambda answer: answer.interrupted(gate, where, chunks),
    )


def late(seconds: float) -> Fault:
    """Wait so long before the first byte."""
    return replace(held(partial(asyncio.sleep, seconds)), name="late")


def slow(seconds: float) -> Fault:
    """Wait so long before each chunk of a stream."""
    return replace(paced(partial(asyncio.sleep, seconds)), name="slow")


def paced(gate: Gate) -> Fault:
    """Wait for `gate` before each chunk of a stream."""

    def spread(steps: Iterable[Step]) -> Iterable[Step]:
        for step in steps:
            if isinstance(step, bytes):
                yield gate
            yield step

    def answer(whole: Answer) -> Answer:
        return replace(whole, steps=tuple(spread(whole.steps)))

    return Fault(name="paced", streamed=True, harmless=True, answer=answer)


def hang(where: Place = "before_headers", *, chunks: int = 2) -> Fault:
    """Send no more from there on, and keep the connection until the client leaves."""
    return replace(held(never, where, chunks=chunks), name=f"hang_{where}", harmless=False)


def drop(where: Place = "before_headers", *, chunks: int = 2) -> Fault:
    """Abort the connection there, without the end that HTTP asks for."""
    return Fault(
        name=f"drop_{where}",
        answer=lambda answer: answer.interrupted(Signal.DROP, where, chunks),
    )
