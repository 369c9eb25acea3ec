"""One client per endpoint and event loop, shared by everything in the process."""

import asyncio
from weakref import WeakKeyDictionary

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.settings import Settings

# Per loop: a client that is used from another event loop than its own breaks.
_Clients = dict[tuple[str, str], EndpointClient]
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()


async def connect(endpoint: Endpoint) -> EndpointClient:
    """The client of `endpoint`; the same object for equal settings in one event loop.

    Without a base URL the local model is started, which takes seconds the first time.

    Raises:
        MissingExtra: a local model is wanted and its engine isn't installed.
    """
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    key = endpoint.identity()
    if key not in clients:
        base_url = endpoint.base_url or await _local(endpoint)
        clients.setdefault(key, EndpointClient(endpoint, base_url))
    return clients[key]


async def check(settings: Settings) -> dict[str, str]:
    """Make sure that every endpoint in use answers and serves its model; the models by role.

    Raises:
        CallError: one of them does not, with what to do.
    """
    models: dict[str, str] = {}
    for role in settings.roles_in_use:
        client = await connect(settings.endpoint(role))
        models[role] = await client.check()
    return models


async def close() -> None:
    """Close the connections of the running event loop; they open again when needed."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()


async def _local(endpoint: Endpoint) -> str:
    from tmas_graph.models import local  # noqa: PLC0415  (only where no endpoint is set)

    return (await local.serve(endpoint.local_model)).base_url
