"""Requests to one server over aiohttp, streamed, with a limit on silence.

openai's client, and ChatOpenAI with it, drops thinking, mixes several streamed replies into one,
hides the stall of a stream, and costs three times the processor time: requests go past it. A
subclass of ChatOpenAI stands for them where LangChain's callbacks and LangSmith look on.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from tmas_graph.models.completion import Completion
from tmas_graph.models.events import Events, decoded
from tmas_graph.models.faults import TRANSPORT, Fault, of_error, of_response
from tmas_graph.models.listening import chat_result

_CONNECT_SECONDS = 30.0
_KEPT_SECONDS = 3.0
"""Less than the 5 s after which uvicorn, and so vLLM, closes an idle connection."""
_SPARE = 16
"""Connections for questions to the server, which don't wait for the limiter."""
_LAST_BYTES_SECONDS = 2.0
"""How long a stream may take to end after it has said that it is done."""
_PAUSE_SHARE, _LEAST_PAUSE, _LONGEST_PAUSE = 0.01, 0.02, 0.25
"""Between looks at a stream, in parts of its age: what came meanwhile is read at once, for less."""
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


def connections(most: int) -> httpx2.AsyncClient:
    """A pool for `most` requests at a time; the limits on time are set by each request."""
    return openai.DefaultAioHttpClient(
        limits=httpx2.Limits(max_connections=most + _SPARE, keepalive_expiry=_KEPT_SECONDS),
        timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
    )


class Connection:
    """The chat completions of one server."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str, key: str) -> None:
        """Send over `http`, in the name of `key`."""
        self._http = http
        self._url = httpx2.URL(f"{base_url.rstrip('/')}/chat/completions")
        self._headers = {
            "authorization": f"Bearer {key or 'none'}",
            "content-type": "application/json",
        }

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
            async with asyncio.timeout(patience.seconds):
                await self._exchange(json.dumps(body).encode(), patience, completion)
        except TimeoutError:
            said = f"no whole answer came within {patience.seconds:.3g} s"
            raise Fault("deadline", said, received=completion.received) from None
        except TRANSPORT as error:
            fault = of_error(error)
            fault.received = completion.received
            raise fault from error

    async def _exchange(self, body: bytes, patience: Patience, completion: Completion) -> None:
        headers = self._headers | {"content-length": str(len(body))}
        ask = self._http.stream("POST", self._url, content=in_pieces(body), headers=headers)
        async with ask as response:
            kind = response.headers.get("content-type", "")
            if response.status_code >= 400:
                said = await _all_of(response, _LONGEST_ERROR)
                raise of_response(response.status_code, response.headers, said)
            if kind.startswith(_FOREIGN):
                raise Fault("foreign", f"a page, {kind}")
            if kind.startswith("text/event-stream"):
                completion.streamed = True
                await _read(response, completion, patience.stall_seconds)
            else:
                completion.take(decoded(await response.aread()))
            completion.ended()


class ThinkingChatOpenAI(ChatOpenAI):
    """ChatOpenAI that keeps thinking, refusals and several streamed replies apart."""

    _connection: Connection = PrivateAttr()

    def __init__(self, http: httpx2.AsyncClient, connection: Connection, **fields: Any) -> None:
        """Send over `connection`, which uses `http`; `fields` are ChatOpenAI's."""
        # Retries have one owner, which isn't this; streams of several replies are read here.
        super().__init__(http_async_client=http, max_retries=0, disable_streaming=True, **fields)
        self._connection = connection

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Send one request as LangChain asks for it, without a stream.

        Raises:
            Fault: no usable answer came.
        """
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        payload |= payload.pop("extra_body", None) or {}
        completion = Completion()
        await self._connection.complete(payload, Patience(), completion)
        return chat_result(completion)


async def _read(
    response: httpx2.Response, completion: Completion, stall_seconds: float | None
) -> None:
    """Read the events of a stream, until it ends or falls silent in its midst."""
    events = Events()
    try:
        async with asyncio.timeout(None) as silence:
            await _read_all(response, events, completion, _Alarm(silence, stall_seconds))
    except TimeoutError:
        if not silence.expired():
            raise
        if not events.done:
            said = f"it fell silent for {stall_seconds:.3g} s in the midst of a reply"
            raise Fault("stalled", said, received=completion.received) from None
    except TRANSPORT:
        if not events.done:
            raise
    for event in events.close():
        completion.take(event)


async def _read_all(
    response: httpx2.Response, events: Events, completion: Completion, alarm: "_Alarm"
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for piece in response.aiter_bytes():
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
    http: httpx2.AsyncClient, method: str, url: str, key: str, body: Mapping[str, Any] | None = None
) -> bytes:
    """The body of the answer to one request that is no chat completion.

    Raises:
        Fault: nothing answers, or it answers with an error, in which `key` is hidden.
    """
    headers = {"authorization": f"Bearer {key or 'none'}"}
    content = None
    if body is not None:
        raw = json.dumps(body).encode()
        content = in_pieces(raw)
        headers |= {"content-type": "application/json", "content-length": str(len(raw))}
    try:
        response = await http.request(method, url, content=content, headers=headers)
    except TRANSPORT as error:
        raise of_error(error) from error
    if response.status_code >= 400:
        fault = of_response(response.status_code, response.headers, response.content)
        raise fault.without(key)
    return response.content


def in_pieces(body: bytes) -> bytes | AsyncIterator[bytes]:
    """A body that holds up the event loop nowhere; its length must be said in a header."""
    return body if len(body) < _LARGE else _pieces(body)


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(body), _LARGE):
        yield body[begin : begin + _LARGE]


async def _all_of(response: httpx2.Response, most: int) -> bytes:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > most:
            break
    return body
