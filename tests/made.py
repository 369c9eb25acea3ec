"""Calls as the model layer would make them, for tests of what becomes of calls."""

from typing import Any

from tmas_graph.models.calls import Call, Place, Sending
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Message
from tmas_graph.settings import AnyRole
from tmas_graph.usage import Usage

NOON = 1_800_000_000.0
"""Seconds since the epoch."""


def sent(began: float = NOON, seconds: float = 2.0, **changes: Any) -> Sending:
    """A request, answered unless `changes` say otherwise."""
    usage = Usage(calls=1, prompt_tokens=100, completion_tokens=20)
    given = {"queued": 0.0, "outcome": "answered", "status": 200, "usage": usage, **changes}
    return Sending(began, seconds=seconds, **given)


def made(
    name: str = "0a",
    role: AnyRole = "solution",
    *,
    iteration: int = 0,
    index: int = 0,
    text: str = "Solve it",
    **changes: Any,
) -> Call:
    """A call of one request and one reply, but for `changes`."""
    messages: tuple[Message, ...] = (
        {"role": "system", "content": "You solve problems."},
        {"role": "user", "content": text},
    )
    given: dict[str, Any] = {
        "base_url": "http://127.0.0.1:8000/v1",
        "model": "asked",
        "served": "served",
        "messages": messages,
        "cut": {},
        "n": 1,
        "seed": 2048,
        "sampling": {"temperature": 0.6, "top_p": 0.95, "max_tokens": 500},
        "replies": (Reply("It is 42.", "6 times 7"),),
        "sendings": (sent(),),
        **changes,
    }
    return Call(id=name, place=Place("p", iteration, role, index), **given)


def failed(name: str = "0f", *, began: float = NOON, **changes: Any) -> Call:
    """A call that got no reply, of two requests."""
    sendings = (
        sent(began, outcome="HTTP 503", status=503, usage=Usage(calls=1)),
        sent(began + 5, 1.0, outcome="HTTP 503", status=503, queued=1.0, usage=Usage(calls=1)),
    )
    given = {"replies": (), "served": "", "cause": "it is overloaded", "sendings": sendings}
    return made(name, **{**given, **changes})
