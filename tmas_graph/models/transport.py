"""Requests to one server over aiohttp, streamed, with a limit on silence.

openai's client, and ChatOpenAI with it, drops thinking, mixes several streamed replies into one,
hides the stall of a stream, and costs several times the processor time: requests go past it. A
subclass of ChatOpenAI, in chat_model.py, stands for them where LangChain's callbacks look on.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import aiohttp

from tmas_graph.models.completion import Completion
from tmas_graph.models.events import Events, decoded
from tmas_graph.models.faults import TRANSPORT, Fault, of_error, of_response

_LAST_BYTES_SECONDS = 2.0
"""How long a stream may take to end after it has said that it is done."""
_PAUSE_SHARE, _LEAST_PAUSE, _LONGEST_PAUSE = 0.01, 0.02, 0.25
"""Between looks at a stream, in parts of its age: what came meanwhile is read at once, for less."""
_JSON = {"content-type": "application/json"}
_LARGE = 2**18
_LONGEST_ERROR = 2**20
_FOREIGN = ("text/html", "application/xhtml")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for an answer."""

    seconds: float | None = None
    """For all of it."""
    stall_seconds: float | None = None
    """In silence, in the midst of it; None asks for no stream."""


class Connection:
    """The chat completions of one server."""

    def __init__(self, http: aiohttp.ClientSession, base_url: str, key: str) -> None:
        """Send over `http`, in the name of `key`."""
        self._http = http
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._headers = _headers(key) | _JSON

    async def complete(
        self, payload: Mapping[str, Any], patience: Patience, completion: Completion
    ) -> None:
        """Send one request, and read its answer into `completion` as it comes.

        Raises:
            Fault: no usable answer came.
        """
        body: dict[str, Any] = {k: v for k, v in payload.items() if k != "stream"}
        if patience.stall_seconds is not None:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        try:
            async with asyncio.timeout(patience.seconds) as deadline:
                await self._exchange(json.dumps(body).encode(), patience, completion)
        except TRANSPORT as error:
            if deadline.expired():  # a TimeoutError may be the connection's, too
                said = f"no whole answer came within {patience.seconds:.3g} s"
                raise Fault("deadline", said, received=completion.received) from None
            fault = of_error(error)
            fault.received = completion.received
            raise fault from error

    async def _exchange(self, body: bytes, patience: Patience, completion: Completion) -> None:
        ask = self._http.post(self._url, data=in_pieces(body), headers=self._headers)
        async with ask as response:
            if response.status >= 400:
                raise _refusal(response, await _all_of(response, _LONGEST_ERROR))
            kind = response.headers.get("content-type", "").encode("ascii", "replace").decode()
            if kind.startswith(_FOREIGN):
                raise Fault("foreign", f"a page, {kind}")
            if kind.startswith("text/event-stream"):
                completion.streamed = True
                await _read(response, completion, patience.stall_seconds)
            else:
                completion.take(decoded(await response.read()))
            completion.ended()


async def _read(
    response: aiohttp.ClientResponse, completion: Completion, stall_seconds: float | None
) -> None:
    """Read the events of a stream, until it ends or falls silent in its midst."""
    events = Events()
    try:
        async with asyncio.timeout(None) as silence:
            await _read_all(response, events, completion, _Alarm(silence, stall_seconds))
    except TRANSPORT:
        if not events.done:
            if not silence.expired():
                raise
            said = f"it fell silent for {stall_seconds:.3g} s in the midst of a reply"
            raise Fault("stalled", said, received=completion.received) from None
    for event in events.close():
        completion.take(event)


async def _read_all(
    response: aiohttp.ClientResponse, events: Events, completion: Completion, alarm: "_Alarm"
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for piece in response.content.iter_any():
        heard = False
        for event in events.feed(piece):
            completion.take(event)
            heard = True
        if heard:  # comments only say that a proxy is alive
            alarm.heard()
        if events.done:
            alarm.last(_LAST_BYTES_SECONDS)
        elif (pause := min(_LONGEST_PAUSE, _PAUSE_SHARE * (loop.time() - began))) > _LEAST_PAUSE:
            await asyncio.sleep(pause)


class _Alarm:
    """Ends a silence; setting it anew for every piece would cost more than reading the piece."""

    __slots__ = ("_again", "_limit", "_loop", "_seconds")

    def __init__(self, limit: asyncio.Timeout, seconds: float | None) -> None:
        """Let `limit` end a silence of `seconds`, or an eighth more, once something was heard."""
        self._limit, self._seconds = limit, seconds
        self._loop = asyncio.get_running_loop()
        self._again = 0.0

    def heard(self) -> None:
        """Begin the silence anew."""
        if self._seconds is not None and (now := self._loop.time()) >= self._again:
            self._again = now + self._seconds / 8
            self._limit.reschedule(self._again + self._seconds)

    def last(self, seconds: float) -> None:
        """End it after `seconds`."""
        self._seconds = None
        self._limit.reschedule(self._loop.time() + seconds)


async def asked(
    http: aiohttp.ClientSession,
    method: str,
    url: str,
    key: str,
    body: Mapping[str, Any] | None = None,
) -> bytes:
    """The body of the answer to one request that is no chat completion.

    Raises:
        Fault: nothing answers, or it answers with an error, in which `key` is hidden.
    """
    headers, data = _headers(key), None
    if body is not None:
        headers, data = headers | _JSON, in_pieces(json.dumps(body).encode())
    try:
        async with http.request(method, url, data=data, headers=headers) as response:
            content = await response.read()
    except TRANSPORT as error:
        raise of_error(error) from error
    if response.status >= 400:
        raise _refusal(response, content).without(key)
    return content


def in_pieces(body: bytes) -> bytes | BytesIO:
    """A body that holds up the event loop nowhere, and that can be sent again elsewhere."""
    return body if len(body) < _LARGE else BytesIO(body)


def _headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key or 'none'}"}


def _refusal(response: aiohttp.ClientResponse, body: bytes) -> Fault:
    """The fault that an error response states, or that a redirect to another server led to."""
    fault = of_response(response.status, response.headers, body)
    at = response.url.origin()
    if response.status in (401, 403) and any(past.url.origin() != at for past in response.history):
        fault.said = f"it redirects to {at}, which isn't told the key: set base_url to that"
    return fault


async def _all_of(response: aiohttp.ClientResponse, most: int) -> bytes:
    body = b""
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > most:
            break
    return body
