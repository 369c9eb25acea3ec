"""Requests to one server: ChatOpenAI over aiohttp, streamed, with a limit on silence.

A subclass of ChatOpenAI, so that LangChain's callbacks and LangSmith see every request; what it
does over there by way of openai's client is done here on the connection itself: that client drops
thinking, mixes several streamed replies into one, hides the stall of a stream, and costs three
times the processor time.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
from langchain_core.callbacks import AsyncCallbackManager, AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables.config import var_child_runnable_config
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from tmas_graph.models.completion import Completion, Events, decoded
from tmas_graph.models.faults import Fault, of_error, of_response

_CONNECT_SECONDS = 30.0
_LONGEST_ERROR = 2**20
_FOREIGN = ("text/html", "application/xhtml")


def connections(most: int) -> httpx2.AsyncClient:
    """A pool of at most `most` connections; the limits on time are set by each request."""
    return openai.DefaultAioHttpClient(
        limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most),
        timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
    )


class ThinkingChatOpenAI(ChatOpenAI):
    """ChatOpenAI that keeps thinking, refusals and several streamed replies apart."""

    _http: httpx2.AsyncClient = PrivateAttr()

    def __init__(self, http: httpx2.AsyncClient, **fields: Any) -> None:
        """Send over `http`; `fields` are ChatOpenAI's."""
        # Retries have one owner, which isn't this; streams of several replies are read here.
        super().__init__(http_async_client=http, max_retries=0, disable_streaming=True, **fields)
        self._http = http

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        *,
        seconds: float | None = None,
        stall_seconds: float | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Send one request.

        Args:
            messages: the prompt.
            stop: texts that end a reply.
            run_manager: of LangChain; unused.
            seconds: until it is given up.
            stall_seconds: longest silence once a reply has begun; None asks for no stream.
            kwargs: further fields of the request.

        Raises:
            Fault: no usable answer came.
        """
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        payload |= payload.pop("extra_body", None) or {}
        if stall_seconds is None:
            payload.pop("stream", None)
        else:
            payload |= {"stream": True, "stream_options": {"include_usage": True}}
        completion = Completion()
        try:
            async with asyncio.timeout(seconds):
                await self._exchange(payload, completion, stall_seconds)
        except TimeoutError:
            said = f"it did not answer within {seconds:.0f} s"
            raise Fault("deadline", said, received=completion.received) from None
        return _chat_result(completion)

    async def _exchange(
        self, payload: Mapping[str, Any], completion: Completion, stall_seconds: float | None
    ) -> None:
        async with self._answer(payload) as response:
            kind = response.headers.get("content-type", "")
            if response.status_code >= 400:
                body = await _all_of(response, _LONGEST_ERROR)
                raise of_response(response.status_code, response.headers, body)
            if kind.startswith(_FOREIGN):
                raise Fault("foreign", f"the answer is {kind}, not OpenAI's form")
            completion.streamed = kind.startswith("text/event-stream")
            try:
                await _read(response, completion, stall_seconds)
            except httpx2.HTTPError as error:
                fault = of_error(error)
                fault.received = completion.received
                raise fault from error
            completion.ended()

    @asynccontextmanager
    async def _answer(self, payload: Mapping[str, Any]) -> AsyncIterator[httpx2.Response]:
        url = f"{str(self.openai_api_base).rstrip('/')}/chat/completions"
        key = self.openai_api_key.get_secret_value() if self.openai_api_key else "none"  # type: ignore[union-attr]
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        body = json.dumps(payload).encode()
        try:
            async with self._http.stream("POST", url, content=body, headers=headers) as response:
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise of_error(error) from error


async def generate(
    chat: ThinkingChatOpenAI, messages: list[BaseMessage], **fields: Any
) -> ChatResult:
    """One request through `chat`; through LangChain's callbacks only where some listen.

    Raises:
        Fault: no usable answer came.
    """
    config = var_child_runnable_config.get() or {}
    manager = AsyncCallbackManager.configure(config.get("callbacks"))
    if not manager.handlers:
        return await chat._agenerate(messages, **fields)
    result = await chat.agenerate([messages], callbacks=manager, **fields)
    generations = [g for g in result.generations[0] if isinstance(g, ChatGeneration)]
    return ChatResult(generations=generations, llm_output=result.llm_output)


async def _read(
    response: httpx2.Response, completion: Completion, stall_seconds: float | None
) -> None:
    """Read what comes into `completion`, until it ends or falls silent in its midst."""
    if not completion.streamed:
        completion.take(decoded(await response.aread()))
        return
    events, loop = Events(), asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as silence:
            async for piece in response.aiter_bytes():
                for event in events.feed(piece):
                    completion.take(event)
                if stall_seconds is not None:
                    silence.reschedule(loop.time() + stall_seconds)
            silence.reschedule(None)
    except TimeoutError:
        if not silence.expired():
            raise
        said = f"it fell silent for {stall_seconds:.0f} s in the midst of a reply"
        raise Fault("stalled", said, received=completion.received) from None
    for event in events.close():
        completion.take(event)


async def _all_of(response: httpx2.Response, most: int) -> bytes:
    body = b""
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > most:
            break
    return body


def _chat_result(completion: Completion) -> ChatResult:
    generations = []
    for index in sorted(completion.choices):
        choice = completion.choices[index]
        message = AIMessage(
            "".join(choice.text),
            additional_kwargs={
                "thinking": "".join(choice.thinking),
                "refusal": "".join(choice.refusal),
            },
        )
        about = {"finish_reason": choice.finish_reason, "deltas": choice.deltas}
        generations.append(ChatGeneration(message=message, generation_info=about))
    output = {
        "token_usage": completion.usage,
        "model_name": completion.model,
        "streamed": completion.streamed,
    }
    return ChatResult(generations=generations, llm_output=output)
