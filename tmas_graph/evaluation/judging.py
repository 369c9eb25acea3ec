"""A judge whose calls are charged and kept with the thread that they are about."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

from tmas_graph.call_store import SqliteCalls
from tmas_graph.models.budget import Budget
from tmas_graph.models.calls import Call, Place
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.models.making import Ask
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Prompt
from tmas_graph.state import digest


@dataclass(frozen=True, slots=True)
class KeptJudge:
    """A model for `graded`: what it was asked in an earlier sitting it isn't asked again."""

    client: EndpointClient
    calls: SqliteCalls
    budget: Budget
    problem: str
    iteration: int
    """In which the answer first stood."""

    async def __call__(self, prompt: Prompt, *, n: int = 1) -> list[Reply]:
        """Return the reply of this sitting or of an earlier one.

        Raises:
            CallError: it gave none.
        """
        texts = [message["content"] for message in prompt.messages]
        seed = int(digest("judge", self.problem, *texts)[:7], 16)
        place = Place(self.problem, self.iteration, "judge")
        call = await self.calls.earlier(place, seed, "first")
        if call is None or not call.puts(prompt.messages):
            call = await self._ask(prompt, Ask(n, seed, place))
        return list(call.replies)

    async def _ask(self, prompt: Prompt, ask: Ask) -> Call:
        stored: list[Awaitable[None]] = []

        def note(call: Call) -> None:
            self.budget.charge(call.usage)
            stored.append(self.calls.note(call))

        try:
            return await self.client.ask(prompt, ask, note)
        finally:
            await asyncio.gather(*stored)
