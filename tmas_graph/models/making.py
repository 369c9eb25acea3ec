"""One call in the making: fitted, sent, sent again where that may help, and recorded."""

import asyncio
import logging
import random
import secrets
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from langchain_core.messages import convert_to_messages
from langchain_core.outputs import ChatResult

from tmas_graph.models.accounting import Measured, accounted, broken
from tmas_graph.models.calls import Call, Place, Sending
from tmas_graph.models.context import Fitted
from tmas_graph.models.faults import Fault
from tmas_graph.models.limiter import Slot
from tmas_graph.models.replies import Reply, replies_of
from tmas_graph.models.transport import generate
from tmas_graph.prompts import Prompt
from tmas_graph.usage import Usage

if TYPE_CHECKING:
    from tmas_graph.models.endpoint import EndpointClient

log = logging.getLogger(__name__)
_NOWHERE = Place("", 0, "judge")
_MOST_STEPS = 40
"""Context errors that one call may meet; each makes its request smaller."""
_UNCLEAR = frozenset({400, 413, 422})
_LEAST_UNCLEAR = 2000
"""Tokens from which on a refusal that gives no reason may be about length."""
_LONGEST_BACKOFF = 60.0


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


class Making:
    """The state of one call; it is made once."""

    def __init__(self, client: "EndpointClient", prompt: Prompt, ask: Ask) -> None:
        """Prepare to put `prompt` to `client`."""
        self.sendings: list[Sending] = []
        self._client = client
        self._ask = ask
        self._name = secrets.token_hex(8)
        self._fitted = Fitted(prompt, 0, None)
        limits = (client.endpoint.timeout_seconds, ask.seconds)
        self._left = min(seconds for seconds in limits if seconds is not None)
        """Seconds that its requests, and the waits between them, may still take."""
        self._served = ""

    async def call(self) -> Call:
        """Make the call.

        Raises:
            Fault: no reply came, and none would if the same were sent again now.
        """
        client, prompt = self._client, self._fitted.prompt
        wanted = self._ask.max_tokens or client.endpoint.max_tokens
        await client.chat()
        limit = client.window.length
        for _ in range(_MOST_STEPS):
            self._fitted = await client.window.fit(prompt, wanted, model=client.name, limit=limit)
            try:
                replies = await self._delivered()
            except Fault as fault:
                if not self._may_be_length(fault):
                    raise
                limit = client.window.tightened(self._fitted, limit)
                if limit < 1:
                    raise
                continue
            client.window.settle(limit)
            return self.record(replies)
        raise Fault("context", "no smaller request was accepted")

    def record(self, replies: tuple[Reply, ...] = (), cause: str = "") -> Call:
        """The call as far as it has come; its first reply carries what all of it cost."""
        spent = sum((sending.usage for sending in self.sendings), Usage())
        replies = tuple(replace(r, usage=spent) for r in replies[:1]) + replies[1:]
        return Call(
            id=self._name,
            place=self._ask.place,
            base_url=self._client.base_url,
            model=self._client.name,
            served=self._served,
            messages=tuple(self._fitted.prompt.messages),
            cut=dict(self._fitted.prompt.cut),
            n=self._ask.n,
            seed=self._seed,
            sampling=self._fields(),
            purpose=self._ask.purpose,
            replies=replies,
            cause=cause,
            sendings=tuple(self.sendings),
        )

    async def _delivered(self) -> tuple[Reply, ...]:
        """Send the request until it is answered, as often as that may help."""
        attempts, limiter = self._client.endpoint.attempts, self._client.limiter
        for attempt in range(1, attempts + 1):
            queued = time.monotonic()
            async with limiter.slot(-self._ask.place.iteration, self._expected()) as slot:
                queued = time.monotonic() - queued
                try:
                    return await self._sent(slot, queued)
                except Fault as fault:
                    if not fault.again or attempt == attempts:
                        raise
                    wait = self._wait(fault, attempt)
                    log.info("%s; trying again in %.1f s", fault.words, wait)
            await asyncio.sleep(wait)
            self._left -= wait
        raise AssertionError("the last attempt returns or raises")

    async def _sent(self, slot: Slot, queued: float) -> tuple[Reply, ...]:
        began, since = time.time(), time.monotonic()
        usage, outcome, status = self._given_up(0), "given up", None
        try:
            result = await self._generated()
            replies, usage = self._understood(result)
            outcome = "answered"
            slot.succeeded()
            return replies
        except Fault as fault:
            outcome, status = fault.words, fault.status
            refused = status is not None or "reached" in fault.said
            usage = Usage(calls=1) if refused else self._given_up(fault.received)
            if fault.pushes_back:
                slot.pushed_back(fault.retry_after)
            raise
        finally:
            seconds = time.monotonic() - since
            self._left -= seconds
            slot.spent(usage.tokens)
            usage = self._client.price(usage, self._served)
            self.sendings.append(Sending(began, queued, seconds, outcome, status, usage))

    async def _generated(self) -> ChatResult:
        endpoint, fields = self._client.endpoint, self._fields()
        fields = {k: v for k, v in fields.items() if k not in ("temperature", "top_p")}
        body = dict(fields.pop("extra_body", {}))
        if self._ask.n > 1:
            fields["n"] = self._ask.n
        if self._seed is not None:
            fields["seed"] = self._seed
        messages = convert_to_messages([dict(m) for m in self._fitted.prompt.messages])
        return await generate(
            await self._client.chat(),
            messages,
            seconds=max(0.001, self._left),
            stall_seconds=endpoint.stall_seconds,
            extra_body=body or None,
            **fields,
        )

    def _understood(self, result: ChatResult) -> tuple[tuple[Reply, ...], Usage]:
        about = result.llm_output or {}
        self._served = about.get("model_name") or ""
        replies, deltas = replies_of(result)
        window, size = self._client.window, sum(len(r.text) + len(r.thinking) for r in replies)
        measured = Measured(
            self._fitted.tokens, deltas if about.get("streamed") else 0, window.estimate(size)
        )
        usage = accounted(about.get("token_usage") or {}, measured, replies)
        if not usage.estimated_tokens:
            window.learn(self._fitted.prompt.messages, usage.prompt_tokens)
        self._client.learn_reply(usage.completion_tokens / max(1, len(replies)))
        return replies, usage

    def _may_be_length(self, fault: Fault) -> bool:
        """Whether a smaller request may be accepted: servers find odd words for it."""
        if fault.kind == "context":
            return True
        unclear = fault.status in _UNCLEAR and self._ask.n == 1
        return unclear and self._fitted.tokens >= _LEAST_UNCLEAR

    def _wait(self, fault: Fault, attempt: int) -> float:
        wait = _backoff(attempt) if fault.retry_after is None else fault.retry_after
        if wait >= self._left:
            asked = f"; it asks to wait {wait:.0f} s" if fault.retry_after else ""
            late = f"{fault.said}{asked}, which is past the deadline"
            raise Fault(fault.kind, late, status=fault.status, received=fault.received)
        return wait

    def _expected(self) -> int:
        """Tokens that a limit per minute should reckon with."""
        each = self._fitted.max_tokens or self._client.mean_reply
        return int(self._fitted.tokens + self._ask.n * min(each, 4 * self._client.mean_reply))

    def _given_up(self, received: int) -> Usage:
        return broken(self._fitted.tokens, self._client.window.estimate(received) - 1)

    @property
    def _seed(self) -> int | None:
        return self._ask.seed if self._client.endpoint.send_seed else None

    def _fields(self) -> dict[str, Any]:
        endpoint = self._client.endpoint
        body = {**endpoint.extra_body, **self._ask.fields}
        given = {
            "temperature": endpoint.temperature,
            "top_p": endpoint.top_p,
            "max_tokens": self._fitted.max_tokens,
            "extra_body": body,
        }
        return {name: value for name, value in given.items() if value is not None and value != {}}


def _backoff(attempt: int) -> float:
    # Spread over time only; nothing that is stored depends on this draw.
    return min(0.5 * 2.0**attempt, _LONGEST_BACKOFF) * random.uniform(0.5, 1.0)
