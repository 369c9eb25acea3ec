"""The project's own client, at a real vLLM."""

from typing import Any

import aiohttp
from clients import outcome

from engines.process import KEY, VllmServer
from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import CallError
from tmas_graph.models import pool
from tmas_graph.models.calls import Call
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.prompts import Prompt

STREAMED, WHOLE = True, False
"""Values of `stream`."""


def endpoint(engine: VllmServer, **fields: Any) -> Endpoint:
    """Settings with the right key and place, but for these `fields`."""
    return Endpoint(**{"base_url": f"{engine.url}/v1", "api_key": KEY, "attempts": 1, **fields})


async def model_of(engine: VllmServer, **fields: Any) -> EndpointClient:
    """The client, which the fixture `pooled` closes."""
    return await pool.connect(endpoint(engine, **fields))


async def refusal(model: EndpointClient, prompt: Prompt, **ask: Any) -> tuple[Call, CallError]:
    """The record of a call that fails, and its error."""
    call, error = await outcome(model, prompt, **ask)
    assert isinstance(error, CallError)
    return call, error


async def hiding(
    request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Let chat completions through; whatever else the server is asked, it won't know."""
    if not request.url.path.endswith("/chat/completions"):
        request.url = request.url.with_path("/unknown")
    return await send(request)
