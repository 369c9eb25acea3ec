"""One OpenAI-compatible endpoint: calls that are limited, fitted, tried again and accounted."""

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from langchain_core.messages import convert_to_messages
from langchain_core.outputs import ChatResult
from pydantic import SecretStr

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import CallError, RequestRefused
from tmas_graph.models.accounting import accounted, broken
from tmas_graph.models.calls import Call, Place, Sending
from tmas_graph.models.context import Fitted, Window
from tmas_graph.models.faults import Fault
from tmas_graph.models.limiter import Limiter, Slot
from tmas_graph.models.replies import Reply, reply_of
from tmas_graph.models.served import Card, Server, explained
from tmas_graph.models.transport import ThinkingChatOpenAI, generate
from tmas_graph.prompts import Message, Prompt
from tmas_graph.settings import near
from tmas_graph.usage import Usage

log = logging.getLogger(__name__)
_NOWHERE = Place("", 0, "judge")
_MOST_STEPS = 40
"""Context errors that one call may meet; each makes its request smaller."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call asks for, besides its prompt."""

    n: int = 1
    seed: int | None = None
    place: Place = _NOWHERE
    purpose: str = "first"
    max_tokens: int | None = None
    """Of one reply; None: as the endpoint's settings say."""
    fields: dict[str, Any] = field(default_factory=dict)
    """Further fields of the request."""
    seconds: float | None = None
    """Until it is given up, if that is sooner than the endpoint's timeout."""


def _unnoted(call: Call) -> None:
    """Note nothing."""


class EndpointClient:
    """The model behind one endpoint, for one event loop."""

    def __init__(
        self, endpoint: Endpoint, base_url: str, *, http: httpx2.AsyncClient, limiter: Limiter
    ) -> None:
        """Prepare a client of `endpoint`, reached at `base_url`; nothing is sent yet."""
        self.endpoint = endpoint
        self.base_url = base_url
        self.takes_n = endpoint.multiple_replies
        """Whether one request may ask for several replies; found out as calls are made."""
        self._limiter = limiter
        self._server = Server(base_url, endpoint.key(), http)
        self._window = Window(
            self._server, limit=endpoint.context_tokens, tokenizer=endpoint.tokenizer
        )
        self._name = endpoint.model
        self._http = http
        self._chat: ThinkingChatOpenAI | None = None
        self._ready: asyncio.Task[ThinkingChatOpenAI] | None = None
        self._mean_reply = 1000.0

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return up to `n` replies to `prompt`, of one request.

        Raises:
            EndpointDown: nothing answers, or it stays busy.
            RequestRefused: wrong key, unknown model, or a request that it can't serve.
        """
        return list((await self.ask(prompt, Ask(n=n))).replies)

    async def ask(
        self, prompt: Prompt, ask: Ask, note: Callable[[Call], None] = _unnoted
    ) -> Call:
        """Make one call, with all the requests that it takes.

        Args:
            prompt: fitted into the model's context as far as needed.
            ask: what is wanted.
            note: called once with the record of the call, however it ended.

        Raises:
            EndpointDown: nothing answers, or it stays busy.
            RequestRefused: wrong key, unknown model, or a request that it can't serve.
        """
        making = _Making(self, prompt, ask)
        try:
            call = await making.call()
        except Fault as fault:
            error = await self._explained(fault)
            error.usage = making.record(cause=str(error)).usage
            note(making.record(cause=str(error)))
            raise error from fault
        except CallError as error:
            note(making.record(cause=str(error)))
            raise
        except BaseException as error:  # cancelled, say: what was sent is paid for
            if making.sendings:
                note(making.record(cause=f"given up ({type(error).__name__})"))
            raise
        note(call)
        return call

    async def served(self) -> list[Card]:
        """The models that the endpoint lists; none where it can't list them.

        Raises:
            EndpointDown: nothing answers.
            RequestRefused: the key is refused.
        """
        return await self._server.cards()

    async def check(self) -> str:
        """Make sure that the endpoint answers and serves the model; give the model's name.

        Raises:
            EndpointDown: nothing answers.
            RequestRefused: wrong key, or a model that is not served.
        """
        await self._learn()
        return self._name or ""

    async def chat(self) -> ThinkingChatOpenAI:
        """LangChain's model of this endpoint, once the server was asked about itself."""
        if self._chat is None:
            if self._ready is None or (self._ready.done() and self._ready.exception()):
                self._ready = asyncio.create_task(self._prepared())
            self._chat = await asyncio.shield(self._ready)
        return self._chat

    def price(self, usage: Usage, served: str) -> Usage:
        """`usage` with its cost, by the price table of the settings."""
        prices = self.endpoint.prices
        price = prices.get(served) or prices.get(self._name or "") or prices.get("*")
        if price is None:
            return usage
        cached = price.prompt if price.cached is None else price.cached
        cost = (usage.prompt_tokens - usage.cached_tokens) * price.prompt
        cost += usage.cached_tokens * cached + usage.completion_tokens * price.completion
        return replace(usage, cost=cost / 1e6)

    async def _prepared(self) -> ThinkingChatOpenAI:
        if self._name is None:
            await self._learn()
        else:
            try:
                await self._learn()
            except CallError as error:  # a server that lists no models may serve them all the same
                log.info("%s", error)
        endpoint = self.endpoint
        return ThinkingChatOpenAI(
            self._http,
            model=self._name,
            base_url=self.base_url,
            api_key=SecretStr(endpoint.key() or "none"),
            temperature=endpoint.temperature,
            top_p=endpoint.top_p,
            extra_body=endpoint.extra_body or None,
        )

    async def _learn(self) -> None:
        cards = await self._server.cards()
        if self._name is None:
            self._name = self._only([card.name for card in cards])
        own = next((card for card in cards if card.name == self._name), None)
        if cards and own is None:
            raise self._unknown([card.name for card in cards])
        await self._window.ask(own)
