"""Models whose finished calls are saved with the run and never paid for twice."""

import asyncio
from dataclasses import asdict
from typing import Any

from langgraph.func import task

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import CallError, RequestRefused
from tmas_graph.models import pool
from tmas_graph.models.replies import Model, Reply
from tmas_graph.prompts import Message
from tmas_graph.state import (
    digest,
)
from tmas_graph.usage import Usage

SEED_SPACING = 1024
"""Base seeds are multiples of this: reply j of a request draws with base + j, as in vLLM."""


def checkpointed(endpoint: Endpoint, seed: int) -> Model:
    """The model behind `endpoint` with call-level resume, for use in nodes and methods.

    `n` replies are one request where the endpoint gives them; what is missing is asked for one
    by one, with the seeds that those replies would have had.
    """

    @task  # a closure: an argument, the endpoint with its key would be shown in streams
    async def model_call(messages: list[Message], n: int, offset: int) -> list[dict[str, Any]]:
        client = await pool.connect(endpoint)
        return [asdict(reply) for reply in await client(messages, n=n, seed=seed + offset)]

    async def ask(messages: list[Message], n: int, offset: int = 0) -> list[Reply]:
        return [_restored(plain) for plain in await model_call(messages, n, offset)]

    async def model(messages: list[Message], *, n: int = 1) -> list[Reply]:
        replies: list[Reply] = []
        client = await pool.connect(endpoint)
        if n == 1 or client.takes_n:
            try:
                replies = (await ask(messages, n))[:n]
            except RequestRefused as error:
                if n == 1 or error.status not in (400, 422):
                    raise
            client.takes_n = client.takes_n and len(replies) == n
        missing = range(len(replies), n)
        more = await asyncio.gather(*(ask(messages, 1, j) for j in missing), return_exceptions=True)
        return _all_that_came([replies, *more])

    return model


def seed_of(run_seed: int, problem_id: str, iteration: int, role: str, index: int = 0) -> int:
    """Base seed of one agent's call, in [0, 2³¹); distinct calls are `SEED_SPACING` apart."""
    name = digest(str(run_seed), problem_id, str(iteration), role, str(index))
    return int(name[:8], 16) % (2**31 // SEED_SPACING) * SEED_SPACING


def _restored(plain: dict[str, Any]) -> Reply:
    return Reply(**{**plain, "usage": Usage(**plain["usage"])})


def _all_that_came(parts: list[list[Reply] | BaseException]) -> list[Reply]:
    replies = [reply for part in parts if not isinstance(part, BaseException) for reply in part]
    for part in parts:
        if isinstance(part, BaseException) and not (replies and isinstance(part, CallError)):
            raise part
    return replies
