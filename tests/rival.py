"""Rival methods on scripted servers: small settings, and what became of a run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import ScriptedServer, server

from tmas_graph import Result, Settings, asolve
from tmas_graph.methods import find

QUESTION = r"How many $x$ satisfy \(x^2 = \frac{{1}}{2}\) and {% raw %} {{ x }}?"
SHORT = Reasoner().short()


def endpoint(**changes: Any) -> ScriptedServer:
    """A server that plays every role with short texts, but for `changes`."""
    return server(**{"script": SHORT, "role_of": role_of, **changes})


def settings(at: ScriptedServer, **changes: Any) -> Settings:
    """Four candidates, three checks, three iterations, one try of each call."""
    given = {"candidates": 4, "verifications": 3, "iterations": 3, "attempts": 1, **changes}
    return Settings.checked({"base_url": at.base_url, **given})


async def solved(
    method: str, at: ScriptedServer, events: list[Any] | None = None, **changes: Any
) -> Result:
    """The result of `method` at that server; its calls are as many as it says at most."""
    given = settings(at, **changes)
    on_event = None if events is None else events.append
    before = len(at.requests)
    result = await asolve(QUESTION, given, method=method, on_event=on_event)
    found = find(method)
    made = sum(len(r.replies) for r in at.requests[before:] if r.status == 200)
    assert made <= found.calls(found.applied(given))
    return result


def saying(*texts: str, check: str = r"It holds. \boxed{1}") -> Callable[[Request, int], Any]:
    """A script whose solutions are `texts` in the order in which they are asked for."""
    turn = iter(texts)

    def script(request: Request, choice: int) -> str | ScriptedReply:
        return next(turn) if request.agent == "solution" else check

    return script


def cut(reply: ScriptedReply) -> ScriptedReply:
    """The reply as one that ended at its length."""
    return replace(reply, finish_reason="length")
