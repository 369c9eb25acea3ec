"""Brings the policy to the server after each step, sees that it is there, and tries it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import torch

from tmas_graph.grpo import heldout
from tmas_graph.grpo.interfaces import Endpoint, Tools
from tmas_graph.grpo.metrics import Kind
from tmas_graph.grpo.operation import EvaluationSettings
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.rank_talk import RankTalk
from tmas_graph.grpo.rows import Message, Row
from tmas_graph.grpo.samples import Rate, Sample

Log = Callable[[Kind, Mapping[str, Rate | float]], None]


@dataclass(slots=True)
class Publisher:
    """All that is done with the server between two steps."""

    endpoint: Endpoint
    policy: Policy
    probe: Sequence[Message]
    """The prompt that parity is checked with."""
    temperature: float
    talk: RankTalk
    log: Log
    version: int = -1
    """What the server has; nothing that is known, in the beginning."""

    async def publish(self, version: int) -> None:
        """Push the policy, unless the server has it; then compare log-probabilities.

        Raises:
            CallError: the server is down or refuses; the text says in what state it is.
            PolicyMismatch: it draws from other weights.
        """
        if version == self.version:
            return
        began = perf_counter()
        served = await self.endpoint.pusher.push(self.policy.model, version)
        self.endpoint.sampler.served = served
        self.version = version
        pushed = perf_counter()
        async with self.talk.forwards(self._logprobs) as logprobs:
            if logprobs is None:
                return
            parity = await self.endpoint.check(self.probe, logprobs)
        seconds = {"seconds/push": pushed - began, "seconds/parity": perf_counter() - pushed}
        self.log("push", {"version": version, "difference": parity.difference, **seconds})

    def _logprobs(self, prompt: Sequence[int], completion: Sequence[int]) -> Sequence[float]:
        batch = self.policy.batched([Sample(tuple(prompt), tuple(completion))])
        with torch.no_grad():
            found: list[float] = self.policy(batch, self.temperature).logprobs_N.tolist()
        return found


@dataclass(frozen=True, slots=True)
class Trial:
    """How the policy is tried on held-out problems."""

    endpoint: Endpoint
    tools: Tools
    rows: Sequence[Row]
    settings: EvaluationSettings
    log: Log

    async def at(self, step: int, last: bool) -> None:
        """Try what is due at `step`; the first and the last one are, in any case.

        Raises:
            CallError: the server is down or refuses.
        """
        sampler, settings = self.endpoint.sampler, self.settings
        if not self.rows:
            return
        if _is_due(step, settings.every, last):
            rows = heldout.chosen(self.rows, settings.rows)
            self.log(
                "held_out", await heldout.evaluate(sampler, self.tools, rows, settings.samples)
            )
        if self.tools.try_tmas and _is_due(step, settings.tmas_every, last):
            problems = heldout.problems(self.rows, settings.tmas_problems)
            self.log("tmas", await self.tools.try_tmas(sampler.served, problems, step))


def _is_due(step: int, every: int, last: bool) -> bool:
    return bool(every) and (last or step % every == 0)
