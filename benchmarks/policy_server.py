"""A server in this process that samples from the very policy that is pushed to it.

What it draws depends on weights and seeds alone, so runs against it can be compared bit for bit.
"""

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from tmas_graph.errors import PolicyMismatch
from tmas_graph.grpo import parity
from tmas_graph.grpo.interfaces import Endpoint
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.samples import Group, Sample
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.weights import full_weights


@dataclass
class PolicyServer:
    """Sampler, pusher and parity check in one, for a policy whose tokens are single characters."""

    model: Any
    """Of the shape of what is trained; it gets the weights that are pushed."""
    symbols: str
    """The character of each token; one token more ends a completion."""
    length: int = 1
    """It ends each completion after so many tokens."""
    served: Served = field(default_factory=lambda: Served(""))
    events: list[str] = field(default_factory=list)
    at: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What is done at an event, such as "push 2"."""
    offset: float = 0.0
    """Added to each log-probability that is told at a parity check."""
    trained: Any = None
    """The trainer's own model."""

    async def _note(self, event: str) -> None:
        self.events.append(event)
        self.at.get(event, lambda: None)()
        await asyncio.sleep(0)  # where a cancellation is noticed

    async def push(self, model: Any, version: int) -> Served:
        """Take the weights of `model`; see `Pusher.push`."""
        await self._note(f"push {version}")
        self.trained = model
        if hasattr(model, "merge_and_unload"):
            weights = copy.deepcopy(model).merge_and_unload().state_dict()  # merging changes it
        else:
            weights = dict(full_weights(model))
        self.model.load_state_dict(weights)
        return Served(f"policy-{version}", version)

    async def close(self) -> None:
        """Note that it was closed."""
        self.events.append("close")

    async def group(self, messages: Sequence[Message], seed: int, n: int | None = None) -> Group:
        """Draw `n` completions; see `Sampler.group`."""
        await self._note(f"group at {self.served.version}")
        assert n is not None
        prompt = tuple(self.symbols.index(one) for one in messages[-1]["content"])
        return tuple(self._samples(prompt, range(seed, seed + n)))

    @torch.no_grad()
    def _samples(self, prompt: tuple[int, ...], seeds: range) -> Iterator[Sample]:
        chances = {seed: torch.Generator().manual_seed(seed) for seed in seeds}
        drawn = {seed: tuple[int, ...]() for seed in seeds}
        told = {seed: tuple[float, ...]() for seed in seeds}
        for _ in range(self.length):
            begun = [seed for seed in seeds if len(self.symbols) not in drawn[seed]]
            logs = self._next(prompt, sorted({drawn[seed] for seed in begun}))
            for seed in begun:
                of_all = logs[drawn[seed]]
                [one] = torch.multinomial(of_all.exp(), 1, generator=chances[seed]).tolist()
                drawn[seed], told[seed] = (*drawn[seed], one), (*told[seed], float(of_all[one]))
        for seed in seeds:
            text = "".join((*self.symbols, "")[one] for one in drawn[seed])
            version = self.served.version
            yield Sample(prompt, drawn[seed], told[seed], text=text, version=version, seed=seed)

    def _next(
        self, prompt: tuple[int, ...], begun: Sequence[tuple[int, ...]]
    ) -> dict[tuple[int, ...], torch.Tensor]:
        """Log-probabilities of the token after each beginning, all of one length."""
        rows = torch.tensor([[*prompt, *ids] for ids in begun], dtype=torch.long)
        logits = self.model(rows).logits[:, -1] if begun else ()
        return {ids: one.log_softmax(-1) for ids, one in zip(begun, logits, strict=True)}

    async def check(self, prompt: Sequence[Message], logprobs: parity.Logprobs) -> parity.Parity:
        """Compare with the trainer's log-probabilities; see `parity.check`."""
        group = await self.group(prompt, 0, 2)
        found = parity.compare(group, lambda *ids: [one + self.offset for one in logprobs(*ids)])
        if found.difference > 1e-3:
            raise PolicyMismatch(f"parity: {found.server} and {found.trainer}", found.difference)
        return found

    @asynccontextmanager
    async def opened(self, settings: RunSettings, ranks: object) -> AsyncIterator[Endpoint]:
        """Give it as a run's endpoint."""
        yield Endpoint(self, self, self.check)
