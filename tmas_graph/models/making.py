"""One call in the making: fitted, sent, sent again where that may help, and recorded."""

import asyncio
import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tmas_graph.models.accounting import answered, broken
from tmas_graph.models.calls import Call, Place, Sending, digest_of
from tmas_graph.models.completion import Completion
from tmas_graph.models.context import Asked, Fitted, lessened
from tmas_graph.models.faults import Fault, hidden
from tmas_graph.models.limiter import Slot
from tmas_graph.models.listening import heard
from tmas_graph.models.replies import Reply, reply_of
from tmas_graph.models.retrying import wait_for
from tmas_graph.models.transport import Patience
from tmas_graph.prompts import Prompt
from tmas_graph.usage import Usage, summed

if TYPE_CHECKING:
    from tmas_graph.models.endpoint import EndpointClient

log = logging.getLogger(__name__)
_LONGEST_NAME = 200
_NOWHERE = Place("", 0, "judge")
_MOST_STEPS = 40
"""Context errors that one call may meet; each makes its request smaller."""
_MOST_UNCLEAR = 8
"""Of refusals that give no reason."""
_UNCLEAR = frozenset({400, 413, 422})
_LEAST_UNCLEAR = 6000
"""Bytes from which on a refusal that gives no reason may be about length."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call asks for, besides its prompt."""

    n: int = 1
    seed: int | None = None
    place: Place = _NOWHERE
    purpose: str = "first"
    max_tokens: int | None = None
    """Of one reply; None: as the endpoint's settings say."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request."""
    seconds: float | None = None
    """Until it is given up, queue and all, if that is sooner than the endpoint's timeout."""
    priority: int = 0
    """Of those that wait for the endpoint, lower numbers go first."""


class Making:
    """The state of one call; it is made once."""

    def __init__(self, client: "EndpointClient", prompt: Prompt, ask: Ask) -> None:
        """Prepare to put `prompt` to `client`."""
        self.sendings: list[Sending] = []
        self._client = client
        self._endpoint = endpoint = client.endpoint
        self._ask = ask
        self._name = secrets.token_hex(8)
        self._asked = prompt.messages
        self._fitted = Fitted(prompt, 0, None)
        self._extra = {**endpoint.extra_body, **ask.fields}
        self._left = endpoint.timeout_seconds
        """Seconds that its requests, and the waits between them, may still take."""
        self._served = ""

    async def call(self) -> Call:
        """Make the call.

        Raises:
            Fault: no reply came, and none would if the same were sent again now.
            CallError: no model is set, and the server doesn't say which it serves.
        """
        try:
            async with asyncio.timeout(self._ask.seconds):
                return await self._made()
        except TimeoutError:
            raise Fault(
                "deadline", f"no reply came in the {self._ask.seconds:.3g} s left"
            ) from None

    def record(self, replies: tuple[Reply, ...] = (), cause: str = "") -> Call:
        """The call as far as it has come; its first reply carries what all of it cost."""
        spent = summed(sending.usage for sending in self.sendings)
        replies = tuple(replace(r, usage=spent) for r in replies[:1]) + replies[1:]
        cut = dict(self._fitted.prompt.cut)
        return Call(
            id=self._name,
            place=self._ask.place,
            base_url=self._client.base_url,
            model=self._client.name,
            served=self._served,
            messages=tuple(self._fitted.prompt.messages),
            cut=cut,
            n=self._ask.n,
            seed=self._seed,
            sampling=self._sampling(),
            purpose=self._ask.purpose,
            replies=replies,
            cause=cause,
            sendings=tuple(self.sendings),
            draw=self._ask.seed,
            asked=digest_of(self._asked) if cut else "",
        )

    async def _made(self) -> Call:
        """Fit the prompt, and make it smaller for as long as it is refused as too long."""
        await self._client.ready()
        window, refused = self._client.window, False
        wanted = self._ask.max_tokens or self._endpoint.max_tokens
        self._fitted = await self._fit(self._fitted.prompt, wanted)
        for step in range(_MOST_STEPS):
            try:
                replies = await self._delivered()
            except Fault as fault:
                smaller = lessened(self._fitted) if self._may_be_length(fault, step) else None
                if smaller is None:
                    raise
                refused = True
                self._fitted = await self._fit(smaller.prompt, smaller.max_tokens)
                continue
            if refused:
                window.settle(self._fitted, self.sendings[-1].usage.prompt_tokens)
            return self.record(replies)
        raise Fault("context", "no smaller request was accepted")

    async def _fit(self, prompt: Prompt, wanted: int | None) -> Fitted:
        asked = Asked(self._client.name, self._extra)
        since = time.monotonic()
        try:
            async with asyncio.timeout(self._left):
                window = self._client.window
                return await window.fit(prompt, wanted, asked, window.length)
        except TimeoutError:
            raise self._late() from None
        finally:
            self._left -= time.monotonic() - since

    async def _delivered(self) -> tuple[Reply, ...]:
        """Send the request until it is answered, as often as that may help."""
        attempts = self._endpoint.attempts
        for attempt in range(1, attempts + 1):
            if self._left <= 0:
                raise self._late()
            queued = time.monotonic()
            slot = self._client.limiter.slot(self._ask.priority, self._expected())
            async with slot:
                try:
                    return await self._sent(slot, time.monotonic() - queued)
                except Fault as fault:
                    if not fault.again or attempt == attempts:
                        raise
                    wait = wait_for(fault, attempt, self._left)
                    log.info("%s; trying again in %.1f s", fault.words, wait)
            await asyncio.sleep(wait)
            self._left -= wait
        raise AssertionError("the last attempt returns or raises")

    async def _sent(self, slot: Slot, queued: float) -> tuple[Reply, ...]:
        """Send one request; whatever comes of it is charged, once."""
        began, since = time.time(), time.monotonic()
        completion, outcome, status, usage = Completion(), "given up", None, None
        try:
            await self._requested(completion)
            usage = answered(completion, self._fitted, self._client.window)
            self._client.learn_reply(usage.completion_tokens / len(completion.choices))
            outcome = "answered"
            slot.succeeded()
            for choice in completion.choices.values():
                choice.finish_reason = choice.finish_reason and self._shown(choice.finish_reason)
            came = sorted(completion.choices.items())
            return tuple(reply_of(choice) for _, choice in came if not choice.given_up)
        except Fault as fault:
            fault.without(self._endpoint.key())
            if fault.kind == "deadline":
                fault.said = self._late().said
            outcome, status = fault.words, fault.status
            if not fault.worked_on:
                usage = Usage(calls=1)
            if fault.pushes_back:
                # A pause that is longer than calls may wait would hold the others up unseen.
                waits = fault.retry_after is not None and fault.retry_after < self._left
                slot.pushed_back(fault.retry_after if waits else None)
            raise
        finally:
            self._served = self._shown(completion.model) or self._served
            usage = usage or broken(completion, self._fitted, self._client.window)
            usage = self._client.price(usage, self._served)
            slot.spent(usage.tokens)
            seconds = time.monotonic() - since
            self._left -= seconds
            self.sendings.append(Sending(began, queued, seconds, outcome, status, usage))

    async def _requested(self, completion: Completion) -> None:
        client, payload = self._client, self._payload()
        endpoint = self._endpoint
        stall = endpoint.stall_seconds if endpoint.stream else None
        patience = Patience(self._left, stall)

        async def request() -> None:
            await client.connection.complete(payload, patience, completion)

        await heard(request, lambda: client.chat, payload, completion)

    def _may_be_length(self, fault: Fault, step: int) -> bool:
        """Whether a smaller request may be accepted: servers find odd words for it."""
        if fault.kind == "context":
            return True
        unclear = fault.status in _UNCLEAR and self._ask.n == 1 and step < _MOST_UNCLEAR
        return unclear and self._fitted.bytes >= _LEAST_UNCLEAR

    def _shown(self, name: str) -> str:
        """A name that the server gave, as far as it may be stored."""
        return hidden(name, self._endpoint.key())[:_LONGEST_NAME]

    def _late(self) -> Fault:
        return Fault("deadline", f"no reply came within {self._endpoint.timeout_seconds:g} s")

    def _expected(self) -> int:
        """Tokens that a limit per minute should reckon with."""
        mean = self._client.mean_reply
        each = min(mean, self._fitted.max_tokens or mean)
        return int(self._fitted.tokens + self._ask.n * each)

    @property
    def _seed(self) -> int | None:
        return self._ask.seed if self._endpoint.send_seed else None

    def _sampling(self) -> dict[str, Any]:
        given: dict[str, Any] = {
            "temperature": self._endpoint.temperature,
            "top_p": self._endpoint.top_p,
            **self._extra,
        }
        if self._fitted.max_tokens is not None:
            given[self._client.max_tokens_field] = self._fitted.max_tokens
        return given

    def _payload(self) -> dict[str, Any]:
        given: dict[str, Any] = {"model": self._client.name}
        given["messages"] = self._fitted.prompt.messages
        if self._ask.n > 1:
            given["n"] = self._ask.n
        if self._seed is not None:
            given["seed"] = self._seed
        return given | self._sampling()
