"""Clients, connections and limiters, shared by everything in the process."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import SettingsError
from tmas_graph.models import telemetry
from tmas_graph.models.connections import connections
from tmas_graph.models.context import loaded
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.limiter import Limiter
from tmas_graph.settings import Settings

_Place = tuple[str, str]
"""A server and the key that it is asked with: what has one limit, whatever is asked of it."""


@dataclass(slots=True)
class _Clients:
    """Of one event loop: a connection that is used from another one breaks."""

    by_endpoint: dict[tuple[str, str], EndpointClient] = field(default_factory=dict)
    http: dict[tuple[_Place, int], aiohttp.ClientSession] = field(default_factory=dict)
    kept: AsyncGenerator[None] | None = None
    """Closes them when it is closed itself."""


@dataclass(frozen=True, slots=True)
class Load:
    """How busy the endpoints of this process are."""

    in_flight: int
    """Requests that were sent and are not answered."""
    waiting: int
    """Requests that the limiters hold back."""
    allowed: int
    """Requests that may be in flight now; fewer than set after an endpoint has pushed back."""


_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()
_limiters: dict[_Place, Limiter] = {}


async def connect(endpoint: Endpoint) -> EndpointClient:
    """The client of `endpoint`; the same object for equal settings in one event loop.

    Without a base URL the local model is started, which takes seconds the first time.

    Raises:
        MissingExtra: a local model is wanted and its engine isn't installed.
    """
    clients = await _here()
    key = endpoint.identity()
    if key not in clients.by_endpoint:
        base_url = endpoint.base_url or await _local(endpoint)
        if key not in clients.by_endpoint:  # unless it was made meanwhile
            clients.by_endpoint[key] = _client(clients, endpoint, base_url)
    return clients.by_endpoint[key]


async def _here() -> _Clients:
    """The clients of the running event loop, which closes them before it ends."""
    loop = asyncio.get_running_loop()
    if loop not in _loops:
        _loops[loop] = clients = _Clients()
        # asyncio.run, and whoever ends a loop well, closes asynchronous generators that still run.
        clients.kept = _keeping(clients.http)
        await anext(clients.kept)
    return _loops[loop]


async def _keeping(http: Mapping[Any, aiohttp.ClientSession]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        for connections_of_one in http.values():
            await connections_of_one.close()


async def check(settings: Settings, *, limited: str = "") -> dict[str, str]:
    """Make sure that every endpoint in use answers and serves its model; the models by role.

    Args:
        settings: whose endpoints they are.
        limited: what else than `max_cost` limits money, if anything does.

    Raises:
        CallError: one of them does not, with what to do.
        SettingsError: a tokenizer can't be loaded, or money is limited and a model has no price.
        MissingExtra: telemetry is wanted and OpenTelemetry isn't installed.
    """
    if any(settings.endpoint(role).telemetry for role in settings.roles_in_use):
        telemetry.require_api()
    limit = "max_cost" if settings.max_cost is not None else limited
    models: dict[str, str] = {}
    for role in settings.roles_in_use:
        client = await connect(settings.endpoint(role))
        models[role] = await client.check()
        if name := client.endpoint.tokenizer:
            await asyncio.to_thread(loaded, name)
        if limit and not client.has_price:
            raise SettingsError(
                f"{limit}: no price is known for {client.name!r}, so that it would never be "
                f'reached. Add [prices."{client.name}"] or [prices."*"], or unset {limit}.'
            )
    return models


async def close() -> None:
    """Close the connections of the running event loop; they open again when needed."""
    clients = _loops.pop(asyncio.get_running_loop(), _Clients())
    if clients.kept is not None:
        await clients.kept.aclose()


def load() -> Load:
    """How busy all endpoints are, from any thread."""
    limiters = list(_limiters.values())
    return Load(
        in_flight=sum(limiter.in_flight for limiter in limiters),
        waiting=sum(limiter.waiting for limiter in limiters),
        allowed=sum(limiter.allowed for limiter in limiters),
    )


def _client(clients: _Clients, endpoint: Endpoint, base_url: str) -> EndpointClient:
    place, most = (base_url, endpoint.key()), endpoint.concurrency
    http = clients.http.get((place, most)) or connections(base_url, most)
    clients.http[place, most] = http
    return EndpointClient(endpoint, base_url, http=http, limiter=_limiter(place, endpoint))


def _limiter(place: _Place, endpoint: Endpoint) -> Limiter:
    """The one of this server and key; the settings that came last hold."""
    limits = endpoint.concurrency, endpoint.requests_per_minute, endpoint.tokens_per_minute
    if place not in _limiters:
        most, requests, tokens = limits
        _limiters[place] = Limiter(most, requests_per_minute=requests, tokens_per_minute=tokens)
    _limiters[place].resize(*limits)
    return _limiters[place]


async def _local(endpoint: Endpoint) -> str:
    from tmas_graph.models import local  # noqa: PLC0415  (only where no endpoint is set)

    return (await local.serve(endpoint.local_model)).base_url
