"""What a fault is: changes to the answer at each stage of its making.

The stages, in order: the behaviour for this request, each choice's reply, the JSON of a plain
answer or the events of a streamed one, and the answer as it goes over the wire. A fault changes
one stage or several; `combined` puts faults together. The faults themselves are in `faults/`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeVar

from endpoints.delivery import Answer, Event
from endpoints.protocol import Failure, Request, ScriptedReply

T = TypeVar("T")


def same(value: T) -> T:
    """Change nothing."""
    return value


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """A fault of one answer; equal only to itself, so that it can be a key."""

    name: str
    """As `Request.fault` records it."""
    streamed: bool | None = None
    """Fits requests that ask for a stream, those that don't (False), or both (None)."""
    harmless: bool = False
    """Whether a client that reads as the protocol says still gets the whole answer."""
    failure: Failure | None = None
    """Answered in place of a completion."""
    behaviour: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Behaviour` that are different for this request."""
    reply: Callable[[ScriptedReply], ScriptedReply] = same
    """Changes each choice."""
    body: Callable[[dict[str, Any]], Any] = same
    """Changes the JSON of a plain answer."""
    events: Callable[[list[Event]], Iterable[Event]] = same
    """Changes the events of a streamed one."""
    answer: Callable[[Answer], Answer] = same
    """Changes either on the wire: status, headers, bytes, pauses."""

    def fits(self, request: Request) -> bool:
        """Whether it means something for `request`."""
        return self.streamed in (None, request.streamed)


def combined(*faults: Fault) -> Fault:
    """All of `faults` in one answer, at each stage in the order given; "a+b" is its name."""
    return reduce(_both, faults)


def _both(first: Fault, second: Fault) -> Fault:
    return Fault(
        name=f"{first.name}+{second.name}",
        streamed=second.streamed if first.streamed is None else first.streamed,
        harmless=first.harmless and second.harmless,
        failure=first.failure or second.failure,
        behaviour={**first.behaviour, **second.behaviour},
        reply=lambda reply: second.reply(first.reply(reply)),
        body=lambda body: second.body(first.body(body)),
        events=lambda events: second.events(list(first.events(events))),
        answer=lambda answer: second.answer(first.answer(answer)),
    )
