"""Models whose finished calls are saved with the run and never paid for twice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Protocol, cast

from langgraph.config import get_config
from langgraph.func import task

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import BudgetSpent, CallError, EndpointDown, RequestRefused
from tmas_graph.models import pool, telemetry
from tmas_graph.models.budget import Budget
from tmas_graph.models.calls import Call, CallLog, CallStore, Place, restored
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Model, Reply, total
from tmas_graph.prompts import Message, Prompt
from tmas_graph.state import digest

BUDGET = "__tmas_budget"
"""Where a run's configuration holds the Budget that calls are charged to."""
LOG = "__tmas_log"
"""Where it holds the CallLog that they are noted in."""
CONNECT = "__tmas_connect"
"""Where it may hold a Connect, to be used in the pool's place."""
ORDER = "__tmas_order"
"""Where it may hold an Order; unless it does, those that are further along go first.

So the first results come soon, however many wait.
"""
SEED_SPACING = 2048
"""Base seeds are multiples of this: reply j of a request draws with base + j, as in vLLM."""
_AGAIN = SEED_SPACING // 2
"""From base + this on: the seeds of what is asked for once more after it was truncated."""
_BLOCKS = 2**31 // SEED_SPACING


class Client(Protocol):
    """What is needed of the client of an endpoint."""

    @property
    def takes_n(self) -> bool:
        """Whether one request may ask for several replies."""
        ...

    def asked_for_n(self, *, came: bool) -> None:
        """Note whether all replies of one request came."""
        ...

    async def ask(self, prompt: Prompt, ask: Ask, note: Callable[[Call], None]) -> Call:
        """Make one call; `note` its record, however it ended.

        Raises:
            CallError: no reply came.
        """
        ...


Connect = Callable[[Endpoint], Awaitable[Client]]
"""Gives the client of an endpoint."""


def checkpointed(
    endpoint: Endpoint, run_seed: int, place: Place, *, unbudgeted: bool = False
) -> Model:
    """The model behind `endpoint` with call-level resume, for use in nodes and methods.

    `n` replies are one request where the endpoint gives them; what is missing is asked for one
    by one, with the seeds that those replies would have had. What becomes of truncated replies,
    `endpoint.truncated` says. `unbudgeted` calls are made, and charged, though the budget is spent.
    """
    return _Caller(endpoint, seed_of(run_seed, place), place, unbudgeted)


def seed_of(run_seed: int, place: Place) -> int:
    """Base seed of the calls at one place, in [0, 2³¹); those of distinct places are far apart.

    The candidates of one iteration, whose prompts may be equal, never share a seed.
    """
    step = digest(str(run_seed), place.problem, str(place.iteration), place.role)
    return (int(step[:12], 16) + place.index) % _BLOCKS * SEED_SPACING


Order = Callable[[Place], int]
"""Gives the priority of a call among those that wait for the limiter; lower numbers go first."""


def _furthest_first(place: Place) -> int:
    return -place.iteration


_make: ContextVar[Callable[[], Awaitable[dict[str, Any]]]] = ContextVar("make")
"""Makes the call at hand. As an argument, the endpoint with its key would be shown in streams."""


@task  # one for all calls: LangGraph looks long at each function that it doesn't know
async def model_call(messages: list[Message]) -> dict[str, Any]:
    """Make a call, which is asked `messages`, unless an earlier sitting has stored what it gave."""
    return await _make.get()()


@dataclass(frozen=True, slots=True)
class _Caller:
    """A model at one place of a run."""

    endpoint: Endpoint
    seed: int
    place: Place
    unbudgeted: bool

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return up to `n` independent replies."""
        client = await self._client()
        replies: list[Reply] = []
        lost = None
        if n == 1 or client.takes_n:
            try:
                replies = list((await self._call(prompt, n=n)).replies[:n])
            except RequestRefused as error:
                if n == 1 or error.status not in (400, 422):
                    raise
                lost = error
            if n > 1:
                client.asked_for_n(came=len(replies) == n)
        missing = range(len(replies), n)
        more = [self._call(prompt, offset=j, purpose="more") for j in missing]
        replies = _all_that_came(replies, await asyncio.gather(*more, return_exceptions=True), lost)
        if self.endpoint.truncated == "keep":
            return replies
        again = (self._mended(prompt, reply, j) for j, reply in enumerate(replies))
        return list(await asyncio.gather(*again))

    async def _mended(self, prompt: Prompt, reply: Reply, j: int) -> Reply:
        """`reply`, or what it becomes when a truncated one is tried once more or continued."""
        if reply.finish_reason != "length":
            return reply
        offset, way = _AGAIN + j, self.endpoint.truncated
        # What ended within its thinking has no text that a chat template would let us continue.
        begun = reply.text if way == "continue" else ""
        try:
            if begun:
                call = await self._call(
                    _continued(prompt, begun), offset=offset, purpose="continue"
                )
            else:
                call = await self._call(prompt, offset=offset, purpose="retry")
        except (CallError, BudgetSpent) as error:
            return replace(reply, usage=reply.usage + error.usage)
        [new] = call.replies[:1]
        spent = reply.usage + new.usage
        if not begun:
            return replace(new, usage=spent)
        # A reasoning parser may take what follows an answer's beginning for thinking.
        text = begun + (new.text or new.thinking)
        return replace(new, text=text, thinking=reply.thinking, usage=spent)

    async def _call(
        self, prompt: Prompt, *, n: int = 1, offset: int = 0, purpose: str = "first"
    ) -> Call:
        place = get_config().get("configurable", {})
        budget, log = place.get(BUDGET), place.get(LOG)
        order: Order = place.get(ORDER) or _furthest_first
        most, fields = self._more(purpose)
        seed = self.seed + offset
        ask = Ask(n, seed, self.place, purpose, most, fields, priority=order(self.place))
        if _store(log):  # what an earlier sitting got is found there
            return await self._made(prompt, ask, budget, log)
        fresh: list[Call] = []

        async def make() -> dict[str, Any]:
            fresh.append(await self._made(prompt, ask, budget, log))
            return fresh[-1].plain()

        before = _make.set(make)
        coming = model_call(prompt.messages)  # from here on it has a context of its own
        _make.reset(before)
        stored = await coming
        return fresh[-1] if fresh else restored(stored)  # of an earlier sitting

    async def _made(
        self, prompt: Prompt, ask: Ask, budget: Budget | None, log: CallLog | None
    ) -> Call:
        if (done := await _earlier(log, ask, prompt)) is not None:
            return done
        if budget and not self.unbudgeted:
            budget.check()
            ask = replace(ask, seconds=budget.seconds_left)
        client = await self._client()
        notes: list[Awaitable[None]] = []

        def note(call: Call) -> None:
            if budget:
                budget.charge(call.usage)
            if log:
                notes.append(log.note(call))
            if self.endpoint.telemetry:
                telemetry.emit(call)

        try:
            return await client.ask(prompt, ask, note)
        except EndpointDown as error:
            if budget and not self.unbudgeted and budget.seconds_left == 0:
                raise _out_of_time(budget, error) from error
            raise
        finally:
            await asyncio.gather(*notes)

    async def _client(self) -> Client:
        connect: Connect = get_config().get("configurable", {}).get(CONNECT, pool.connect)
        return await connect(self.endpoint)

    def _more(self, purpose: str) -> tuple[int | None, dict[str, Any]]:
        """Most tokens, and further fields, of what is asked for once more."""
        most = self.endpoint.max_tokens
        if purpose == "retry":
            return (None if most is None else 2 * most), {}
        if purpose == "continue":
            return most, {"continue_final_message": True, "add_generation_prompt": False}
        return most, {}


def _out_of_time(budget: Budget, error: EndpointDown) -> BudgetSpent:
    spent = budget.refusal()
    spent.usage = error.usage
    return spent


def _continued(prompt: Prompt, begun: str) -> Prompt:
    """`prompt` with the beginning of a reply, for the model to go on from."""
    own: list[Message] = [{"role": "assistant", "content": begun}]

    def smaller(tokens: int) -> Prompt | None:
        less = prompt.smaller(tokens)
        return less and _continued(less, begun)

    return Prompt([*prompt.messages, *own], prompt.cut, smaller)


async def _earlier(log: CallLog | None, ask: Ask, prompt: Prompt) -> Call | None:
    """What an earlier sitting of the run has paid for already, though its step didn't end."""
    if (store := _store(log)) is None:
        return None
    call = await store.earlier(ask.place, ask.seed, ask.purpose)
    same = call and call.n == ask.n and call.puts(prompt.messages)
    return call if same else None


def _store(log: CallLog | None) -> CallStore | None:
    return cast(CallStore, log) if _is_store(cast(Any, type(log))) else None


@cache
def _is_store(kind: Any) -> bool:
    return issubclass(kind, CallStore)  # asked of a log itself, it takes long


def _all_that_came(
    replies: list[Reply], more: Sequence[Call | BaseException], lost: CallError | None
) -> list[Reply]:
    """All replies, with what failed calls have cost on the first; what is no CallError raises."""
    failed = [error for error in more if isinstance(error, BaseException)]
    came = replies + [call.replies[0] for call in more if isinstance(call, Call)]
    for error in failed:
        if not (came and isinstance(error, CallError)):
            raise error
    errors = [error for error in [lost, *failed] if isinstance(error, CallError)]
    spent = sum((error.usage for error in errors), total(came[:1]))
    return [replace(reply, usage=spent) for reply in came[:1]] + came[1:]
