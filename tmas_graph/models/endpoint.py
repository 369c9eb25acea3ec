"""One OpenAI-compatible endpoint: calls that are limited, fitted, tried again and accounted."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp
from pydantic import SecretStr

from tmas_graph.endpoint_settings import Endpoint, Price
from tmas_graph.errors import CallError, RequestRefused
from tmas_graph.models.calls import Call
from tmas_graph.models.context import Window
from tmas_graph.models.faults import Fault
from tmas_graph.models.limiter import Limiter
from tmas_graph.models.making import Ask, Making
from tmas_graph.models.replies import Reply
from tmas_graph.models.served import Server, explained, listed
from tmas_graph.models.transport import Connection
from tmas_graph.prompts import Prompt
from tmas_graph.settings import near
from tmas_graph.usage import Usage

if TYPE_CHECKING:
    from tmas_graph.models.chat_model import ThinkingChatOpenAI

log = logging.getLogger(__name__)
_NEW_NAMES = frozenset({"api.openai.com"})
_MOST_MISSED = 3
"""Times in a row that a server may give fewer replies than it was asked for, or refuse to."""
_FIRST_GUESS = 1000.0
"""Tokens of a reply, before any came."""


def _unnoted(call: Call) -> None:
    """Note nothing."""


class EndpointClient:
    """The model behind one endpoint, for one event loop."""

    def __init__(
        self, endpoint: Endpoint, base_url: str, *, http: aiohttp.ClientSession, limiter: Limiter
    ) -> None:
        """Prepare a client of `endpoint`, reached at `base_url`; nothing is sent yet.

        Raises:
            RequestRefused: the key is one that can't be sent.
        """
        key = endpoint.key()
        if not (key.isascii() and key.isprintable()):
            raise RequestRefused(
                f"{base_url}: the key has a line break, or a character that can't be sent, in it. "
                "Set TMAS_API_KEY to the key alone."
            )
        self.endpoint = endpoint
        self.base_url = base_url
        self.limiter = limiter
        self._n_missed = 0 if endpoint.multiple_replies else _MOST_MISSED
        self.name = endpoint.model or ""
        """Of the model; empty until the server has said it, where none is set."""
        self.mean_reply = _FIRST_GUESS
        """Tokens of the replies of late."""
        new = urlsplit(base_url).hostname in _NEW_NAMES
        self.max_tokens_field = "max_completion_tokens" if new else "max_tokens"
        """What the server calls the most tokens of a reply; all but OpenAI know the old name."""
        self._server = Server(base_url, key, http)
        limit, tokenizer = endpoint.context_tokens, endpoint.tokenizer
        self.window = Window(self._server, limit=limit, tokenizer=tokenizer)
        self.connection = Connection(http, base_url, key)
        self._learning: asyncio.Task[None] | None = None
        self._answered = False

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return up to `n` replies to `prompt`, of one request.

        Raises:
            EndpointDown: nothing answers, or it stays busy.
            RequestRefused: wrong key, unknown model, or a request that it can't serve.
        """
        return list((await self.ask(prompt, Ask(n=n))).replies)

    async def ask(self, prompt: Prompt, ask: Ask, note: Callable[[Call], None] = _unnoted) -> Call:
        """Make one call, with all the requests that it takes.

        Args:
            prompt: fitted into the model's context as far as needed.
            ask: what is wanted.
            note: called once with the record of the call, however it ended.

        Raises:
            EndpointDown: nothing answers, or it stays busy.
            RequestRefused: wrong key, unknown model, or a request that it can't serve.
        """
        making = Making(self, prompt, ask)
        try:
            call = await making.call()
        except Fault as fault:
            error = await self._explained(fault)
            self._note_failed(making, error, note)
            raise error from fault
        except CallError as error:
            self._note_failed(making, error, note)
            raise
        except BaseException as error:  # cancelled, say: what was sent is paid for all the same
            if making.sendings:
                note(making.record(cause=f"given up ({type(error).__name__})"))
            raise
        self._answered = True
        note(call)
        return call

    @property
    def takes_n(self) -> bool:
        """Whether one request may ask for several replies; found out as calls are made."""
        return self._n_missed < _MOST_MISSED

    def asked_for_n(self, *, came: bool) -> None:
        """Note whether all replies of one request came; a miss alone may be a fault."""
        if self.takes_n:
            self._n_missed = 0 if came else self._n_missed + 1

    async def check(self) -> str:
        """Make sure that the endpoint answers and serves the model; give the model's name.

        Raises:
            EndpointDown: nothing answers.
            RequestRefused: wrong key, or a model that is not served.
        """
        await self._learn()
        return self.name

    @cached_property
    def chat(self) -> "ThinkingChatOpenAI":
        """LangChain's model of this endpoint, whose name must be known; it takes a second."""
        from tmas_graph.models.chat_model import ThinkingChatOpenAI  # noqa: PLC0415  (who listens)

        endpoint = self.endpoint
        return ThinkingChatOpenAI(
            self.connection,
            model=self.name,
            base_url=self.base_url,
            api_key=SecretStr(endpoint.key() or "none"),
            temperature=endpoint.temperature,
            top_p=endpoint.top_p,
        )

    async def ready(self) -> None:
        """Make sure that the server was asked about itself.

        Who serves the model without saying so may be called all the same, and isn't asked again
        once it has answered a call.

        Raises:
            CallError: no model is set, and the server doesn't say which it serves.
        """
        learning = self._learning
        if learning is None or (learning.done() and _failed(learning) and not self._answered):
            learning = self._learning = asyncio.create_task(self._learn())
        try:
            if not learning.done():
                await asyncio.shield(learning)
            learning.result()
        except CallError as error:
            if not self.name:
                raise copy(error) from error  # several calls raise it, each with its own usage
            log.info("%s", error)

    def price(self, usage: Usage, served: str) -> Usage:
        """`usage` with its cost, by the price table of the settings."""
        price = self._price(served)
        if price is None:
            return usage
        cached = price.prompt if price.cached is None else price.cached
        cost = (usage.prompt_tokens - usage.cached_tokens) * price.prompt
        cost += usage.cached_tokens * cached + usage.completion_tokens * price.completion
        return replace(usage, cost=cost / 1e6)

    @property
    def has_price(self) -> bool:
        """Whether the settings say what its model costs."""
        return self._price("") is not None

    def _price(self, served: str) -> Price | None:
        prices = self.endpoint.prices
        return prices.get(self.name) or prices.get(served) or prices.get("*")

    def learn_reply(self, tokens: float) -> None:
        """Take the length of a reply into the mean of late."""
        self.mean_reply += 0.1 * (tokens - self.mean_reply)

    def _note_failed(self, making: Making, error: CallError, note: Callable[[Call], None]) -> None:
        failed = making.record(cause=str(error))
        error.usage = failed.usage
        note(failed)

    async def _learn(self) -> None:
        cards = await self._server.cards()
        names = [card.name for card in cards]
        if not self.name:
            self.name = self._only(names)
        own = next((card for card in cards if card.name == self.name), None)
        await self.window.ask(own)
        if names and own is None:
            raise self._unknown(names)

    async def _explained(self, fault: Fault) -> CallError:
        if fault.status == 404:
            try:
                names = [card.name for card in await self._server.cards()]
            except CallError:
                names = []
            if names and self.name not in names:
                return self._unknown(names)
        return explained(fault, self.base_url)

    def _unknown(self, names: Sequence[str]) -> RequestRefused:
        return RequestRefused(
            f"{self.base_url}: model {self.name!r} is not served{near(self.name, names)}. "
            f"It serves: {listed(names)}.",
            404,
        )

    def _only(self, names: Sequence[str]) -> str:
        if len(names) == 1:
            return names[0]
        if not names:
            raise RequestRefused(
                f"{self.base_url}: no model is set, and the server lists none. Set model, and "
                "check base_url (it ends in /v1).",
                404,
            )
        raise RequestRefused(
            f"{self.base_url}: no model is set, and it serves {listed(names)}. "
            "Give one with --model or TMAS_MODEL.",
            404,
        )


def _failed(learning: asyncio.Task[None]) -> bool:
    return learning.cancelled() or learning.exception() is not None
