"""Clients of scripted servers, for tests."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from endpoints.fault import Fault
from endpoints.faults.mix import at_most
from endpoints.protocol import Request, ScriptedReply
from endpoints.scripted import ScriptedServer

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.models.calls import Call
from tmas_graph.models.connections import connections
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.limiter import Limiter
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt

ASK = Prompt([{"role": "user", "content": "What is 6·7?"}])


def asking(text: str) -> Prompt:
    return Prompt([{"role": "user", "content": text}])


def shrinking(paragraphs: int, size: int = 400) -> Prompt:
    """A prompt of so many paragraphs, each of which can be left out."""

    def made(kept: int) -> Prompt:
        def smaller(tokens: int) -> Prompt | None:
            gone = min(kept, max(1, -(-3 * tokens // size)))
            return made(kept - gone) if gone else None

        text = "Question.\n" + "\n".join(["four" * (size // 4)] * kept)
        cut = {"paragraphs": paragraphs - kept} if kept < paragraphs else {}
        return Prompt([{"role": "user", "content": text}], cut, smaller)

    return made(paragraphs)


def say(request: Request, choice: int) -> ScriptedReply:
    """Each choice says something else, in more than one event."""
    thinking = f"thought {choice}: " + "hm, " * 150
    return ScriptedReply(text=f"text {choice}: " + "so, " * 150 + "end", thinking=thinking)


@asynccontextmanager
async def client_at(base_url: str, **fields: Any) -> AsyncIterator[EndpointClient]:
    """A client of its own of the server at `base_url`; `fields` are the endpoint's settings."""
    endpoint = Endpoint(base_url=base_url, **fields)
    limiter = Limiter(
        endpoint.concurrency,
        requests_per_minute=endpoint.requests_per_minute,
        tokens_per_minute=endpoint.tokens_per_minute,
    )
    async with connections(base_url, endpoint.concurrency) as http:
        yield EndpointClient(endpoint, base_url, http=http, limiter=limiter)


def client_of(scripted: ScriptedServer, **fields: Any) -> Any:
    return client_at(scripted.base_url, **fields)


def at_first(fault: Fault, times: int = 1) -> Callable[[Request], Fault | None]:
    """The fault in the first answers to a request, none in those after."""
    return at_most(times, lambda request: fault)


async def outcome(
    model: EndpointClient, prompt: Prompt = ASK, **ask: Any
) -> tuple[Call, Exception | None]:
    """The record of a call, and the error that it raised."""
    calls: list[Call] = []
    error = None
    try:
        await model.ask(prompt, Ask(**ask), calls.append)
    except Exception as raised:
        error = raised
    [call] = calls
    return call, error


async def until(state: Callable[[], object]) -> None:
    """Wait for a state that nobody tells of; the test's own limit ends it."""
    while not state():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


async def abandoned(scripted: ScriptedServer, times: int = 1) -> None:
    """Wait until so many requests have lost their client."""
    await until(lambda: sum(request.abandoned for request in scripted.requests) >= times)
    assert scripted.in_flight == 0
