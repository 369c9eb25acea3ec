"""One OpenAI-compatible endpoint: requests, replies, retries, and errors that say what to do."""

import asyncio
import logging
import os
import random
from typing import Any

import httpx2
import openai
from langchain_core.messages import convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import CallError, EndpointDown, RequestRefused
from tmas_graph.models.replies import Reply, split_thinking
from tmas_graph.prompts import Message
from tmas_graph.settings import near
from tmas_graph.usage import Usage

log = logging.getLogger(__name__)
_BUSY = {408, 409, 429}
_LONGEST_WAIT = 60.0
_MALFORMED = (ValueError, TypeError, AttributeError, LookupError)
"""What openai and langchain raise where an answer isn't in the form they expect."""


class ThinkingChatOpenAI(ChatOpenAI):
    """ChatOpenAI that keeps vLLM's `reasoning` (older: `reasoning_content`), which it drops."""

    def _create_chat_result(
        self,
        response: dict[str, Any] | openai.BaseModel,
        generation_info: dict[str, Any] | None = None,
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        plain = response if isinstance(response, dict) else response.model_dump()
        for generation, choice in zip(result.generations, plain.get("choices") or [], strict=False):
            message = choice.get("message") or {}
            thinking = message.get("reasoning") or message.get("reasoning_content") or ""
            generation.message.additional_kwargs["thinking"] = thinking
        return result


class EndpointClient:
    """The model behind one endpoint, for one event loop; limits its own calls in flight."""

    def __init__(self, endpoint: Endpoint, base_url: str) -> None:
        """Prepare a client of `endpoint`, reached at `base_url`; nothing is sent yet."""
        self.endpoint = endpoint
        self.base_url = base_url
        self.takes_n = endpoint.multiple_replies
        """Whether one request may ask for several replies; found out as calls are made."""
        self._name = endpoint.model
        self._chat: ThinkingChatOpenAI | None = None
        self._limit = asyncio.Semaphore(endpoint.concurrency)
        self._timeout = httpx2.Timeout(endpoint.timeout_seconds, connect=30.0)
        self._http = openai.DefaultAioHttpClient(
            limits=httpx2.Limits(
                max_connections=endpoint.concurrency,
                max_keepalive_connections=endpoint.concurrency,
            ),
            timeout=self._timeout,
        )

    async def __call__(
        self, messages: list[Message], *, n: int = 1, seed: int | None = None
    ) -> list[Reply]:
        """Return up to `n` replies to `messages`, of one request.

        Raises:
            EndpointDown: nothing answers, or it stays busy.
            RequestRefused: wrong key, unknown model, or a request that it can't serve.
        """
        async with self._limit:
            for attempt in range(1, self.endpoint.attempts + 1):
                try:
                    return await self._request(messages, n, seed)
                except openai.OpenAIError as error:
                    failure, wait = await self._judge(error, attempt)
                    if wait is None or attempt == self.endpoint.attempts:
                        raise failure from error
                    log.info("%s; trying again in %.1f s", failure, wait)
                await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def served(self) -> list[str]:
        """Names of the models that the endpoint lists; none where it can't list them.

        Raises:
            EndpointDown: nothing answers.
            RequestRefused: the key is refused.
        """
        client = openai.AsyncOpenAI(
            base_url=self.base_url,
            api_key=self.endpoint.key() or "none",
            http_client=self._http,
            max_retries=0,
        )
        try:
            page = await client.models.list(timeout=30)
            return [model.id for model in page.data]
        except openai.NotFoundError:
            return []
        except openai.OpenAIError as error:
            failure, _ = await self._judge(error, 1)
            if isinstance(failure, RequestRefused) and failure.status not in (401, 403):
                return []
            raise failure from error
        except _MALFORMED:
            return []  # another kind of server

    async def check(self) -> str:
        """Make sure that the endpoint answers and serves the model; give the model's name.

        Raises:
            EndpointDown: nothing answers.
            RequestRefused: wrong key, or a model that is not served.
        """
        names = await self.served()
        if self._name is None:
            self._name = self._only(names)
        if names and self._name not in names:
            raise self._unknown(names)
        return self._name

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def _request(self, messages: list[Message], n: int, seed: int | None) -> list[Reply]:
        name = self._name or await self.check()
        self._chat = chat = self._chat or self._chat_with(name)  # costs 50 ms to make
        extra: dict[str, Any] = {"n": n} if n > 1 else {}
        if seed is not None and self.endpoint.send_seed:
            extra["seed"] = seed
        prompt = convert_to_messages([dict(message) for message in messages])
        try:
            result = await chat.agenerate([prompt], **extra)
        except _MALFORMED as error:
            raise self._malformed(_first_line(error)) from error
        spent = _usage((result.llm_output or {}).get("token_usage") or {})
        replies = [
            _reply(generation, spent if i == 0 else Usage())
            for i, generation in enumerate(result.generations[0])
            if isinstance(generation, ChatGeneration)
        ]
        if not replies:
            raise self._malformed("it has no choices")
        return replies

    def _chat_with(self, name: str) -> ThinkingChatOpenAI:
        endpoint = self.endpoint
        return ThinkingChatOpenAI(
            model=name,
            base_url=self.base_url,
            api_key=SecretStr(endpoint.key() or "none"),
            temperature=endpoint.temperature,
            top_p=endpoint.top_p,
            max_tokens=endpoint.max_tokens,
            extra_body=endpoint.extra_body or None,
            http_async_client=self._http,
            timeout=self._timeout,  # with none given it would wait for ever
            max_retries=0,  # retries have one owner: __call__
            disable_streaming=True,  # streamed, several replies would be mixed into one text
        )

    async def _judge(
        self, error: openai.OpenAIError, attempt: int
    ) -> tuple[CallError, float | None]:
        """The error to show for `error`, and the seconds to wait before the next try, if any."""
        where = self.base_url
        if isinstance(error, openai.APIConnectionError):
            text = f"{where}: {_broken(error)}. Start the server, or set base_url."
            return EndpointDown(text), _backoff(attempt)
        if not isinstance(error, openai.APIStatusError):
            return self._malformed(_first_line(error)), None
        status, said = error.status_code, _first_line(error)
        if status in _BUSY or status >= 500:
            text = f"{where}: HTTP {status} ({said}). It is busy or broken; try again later."
            wait = _retry_after(error)
            return EndpointDown(text), _backoff(attempt) if wait is None else wait
        if status in (401, 403):
            text = f"{where}: the key is refused (HTTP {status}). Set TMAS_API_KEY."
        elif status == 404:
            return await self._not_found(said), None
        else:
            text = f"{where}: the request is refused (HTTP {status}): {said}. Change the settings."
        return RequestRefused(text, status), None

    async def _not_found(self, said: str) -> RequestRefused:
        names: list[str] = []
        if self._name is not None:
            try:
                names = await self.served()
            except CallError:
                names = []
        if names and self._name not in names:
            return self._unknown(names)
        text = f"{self.base_url}: not found (HTTP 404): {said}. Check base_url (it ends in /v1)."
        return RequestRefused(text, 404)

    def _unknown(self, names: list[str]) -> RequestRefused:
        hint = near(self._name or "", names)
        served = ", ".join(names)
        return RequestRefused(
            f"{self.base_url}: model {self._name!r} is not served{hint}. It serves: {served}.", 404
        )

    def _only(self, names: list[str]) -> str:
        if len(names) == 1:
            return names[0]
        if not names:
            raise RequestRefused(
                f"{self.base_url}: no model is set, and the server lists none. Set model, and "
                "check base_url (it ends in /v1).",
                404,
            )
        raise RequestRefused(
            f"{self.base_url}: no model is set, and it serves {', '.join(names)}. "
            "Give one with --model or TMAS_MODEL.",
            404,
        )

    def _malformed(self, what: str) -> RequestRefused:
        return RequestRefused(
            f"{self.base_url}: the reply is not in OpenAI's form ({what[:150]}). Check base_url "
            "(it ends in /v1)."
        )


def _reply(generation: ChatGeneration, usage: Usage) -> Reply:
    message = generation.message
    content = message.content if isinstance(message.content, str) else str(message.text)
    thinking, text = split_thinking(_storable(content))
    kept = _storable(message.additional_kwargs.get("thinking") or thinking)
    reason = (generation.generation_info or {}).get("finish_reason") or "stop"
    return Reply(text, kept, reason, usage)


def _usage(tokens: dict[str, Any]) -> Usage:
    details = tokens.get("completion_tokens_details") or {}
    return Usage(
        calls=1,
        prompt_tokens=tokens.get("prompt_tokens") or 0,
        completion_tokens=tokens.get("completion_tokens") or 0,
        reasoning_tokens=details.get("reasoning_tokens") or 0,
    )


def _storable(text: str) -> str:
    """`text` without halves of surrogate pairs, which JSON can carry and no store takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _first_line(error: Exception) -> str:
    body = getattr(error, "body", None)
    said = body.get("message") if isinstance(body, dict) else None
    text = str(said or error.__cause__ or error).strip()
    return text.splitlines()[0][:300] if text else type(error).__name__


def _broken(error: openai.APIConnectionError) -> str:
    """What broke a connection; aiohttp's transport reports a refused one as a timeout too."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if isinstance(cause, OSError) and cause.errno:
        reason = os.strerror(cause.errno) if cause.errno > 0 else cause.strerror
        return f"it can't be reached ({reason})"
    if isinstance(error, openai.APITimeoutError):
        return "it did not answer in time"
    return f"it can't be reached ({_first_line(error)})"


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
        return min(max(0.0, seconds), _LONGEST_WAIT)
    except ValueError:
        return None


def _backoff(attempt: int) -> float:
    # Spread over time only; nothing that is stored depends on this draw.
    return min(0.5 * 2.0**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1.0)
