"""Stops a server while its weights change, and makes sure that it goes on afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tmas_graph.errors import CallError
from tmas_graph.grpo.server import Patience, Server, Unusable

_SHORT, _PAUSE = 60.0, 0.5


@asynccontextmanager
async def paused(server: Server, drain_seconds: float) -> AsyncIterator[None]:
    """Pause `server` once what it works on is done; it goes on whatever happens inside.

    Requests that come meanwhile wait at the server. What is kept of prompts is forgotten before
    it goes on, since it belongs to the old weights.

    Raises:
        EndpointDown, RequestRefused: a step failed; the text says in what state the server is.
    """
    try:
        try:
            await server.post("/pause?mode=wait", None, Patience(drain_seconds, attempts=1))
        except CallError as error:
            raise told(error, "Its weights are those it had before.") from error
        yield
        # Not before: what was cached at the old weights would answer for the new ones.
        await server.post("/reset_prefix_cache", None, _patience(), _succeeded)
    finally:
        # A second cancellation must not leave it paused, either.
        resuming = asyncio.create_task(_resume(server))
        try:
            await asyncio.shield(resuming)
        except asyncio.CancelledError:
            await resuming
            raise


async def _resume(server: Server) -> None:
    try:
        await server.post("/resume", None, _patience())
        await server.get("/is_paused", _patience(), _goes_on)
    except CallError as error:
        raise told(
            error,
            f"The server may still be paused: POST {server.url}/resume, or start it again.",
        ) from error


def _patience() -> Patience:
    return Patience(_SHORT, pause=_PAUSE)


def _succeeded(body: object) -> None:
    if not isinstance(body, dict) or body.get("success") is not True:
        raise Unusable(f"the prefix cache wasn't reset (it answered {body!r:.80})")


def _goes_on(body: object) -> None:
    if not isinstance(body, dict) or body.get("is_paused") is not False:
        raise Unusable(f"it still seems to be paused (it answered {body!r:.80})")


def told(error: CallError, state: str) -> CallError:
    """Give the same error, saying how things stand, too."""
    return type(error)(f"{error} {state}", error.status)
