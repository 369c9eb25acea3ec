"""Samples groups of completions at a vLLM server, with the server's own token ids and logprobs.

A text is never tokenised again: it can be split in several ways, and the log-probabilities belong
to one of them. All of sampling is said in each request, so that no default of the server or of the
model's generation_config.json changes the policy.

Not covered: servers other than vLLM, which don't give token ids; streaming; reasoning parsers
(serve without one, so that `text` holds the thinking too).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NoReturn

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.samples import Group, Sample
from tmas_graph.grpo.server import Patience, Server, Unusable

CHAT = "/v1/chat/completions"
_FLOOR = -9999.0
"""vLLM sends this in place of minus infinity."""
_UNFINISHED = ("abort", "error")
"""Finish reasons of completions that something else than the policy has ended."""


@dataclass(frozen=True, slots=True)
class Served:
    """What to ask the server for: the name of a policy there, and its version."""

    model: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn.

    Raises:
        SettingsError: the trainer couldn't know the probabilities of what is drawn.
    """

    temperature: float = 1.0
    max_tokens: int = 1024
    group_size: int = 8
    template: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the chat template, e.g. `enable_thinking`."""

    def __post_init__(self) -> None:
        """Refuse what can't be trained on."""
        if not self.temperature > 0 or not isfinite(self.temperature):
            raise SettingsError(
                f"sampling: temperature is {self.temperature}. Give one above 0: the trainer "
                "divides logits by it."
            )
        for name in ("max_tokens", "group_size"):
            if getattr(self, name) < 1:
                raise SettingsError(f"sampling: {name} is {getattr(self, name)}. Give at least 1.")


class Sampler:
    """Asks one server for groups; all who sample there share it, and so its one limiter."""

    def __init__(
        self,
        server: Server,
        served: Served,
        sampling: Sampling,
        *,
        concurrency: int = 64,
        patience: Patience | None = None,
    ) -> None:
        """Keep at most `concurrency` groups in flight."""
        self.server = server
        self.sampling = sampling
        self.served = served
        """Replaced after each push: what is asked from then on."""
        self.patience = patience or Patience(1800.0)
        self._limiter = asyncio.Semaphore(concurrency)

    async def group(self, messages: Sequence[Message], seed: int, n: int | None = None) -> Group:
        """Draw a group (of `n`, where given) for one prompt; member i has the seed `seed` + i.

        Raises:
            EndpointDown: the server can't be reached, or keeps failing.
            RequestRefused: it says no, to a prompt that is too long, say.
            SettingsError: it isn't a vLLM that was started for this.
        """
        count = n or self.sampling.group_size
        async with self._limiter:
            served = self.served
            body = {
                **self.request(messages),
                "model": served.model,
                "n": count,
                "seed": seed,
            }
            reading = _Reading(served.version, seed, count, self.server.url)
            return await self.server.post(CHAT, body, self.patience, reading.group)

    def request(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Everything of a request but model, number and seed."""
        body: dict[str, Any] = {
            "messages": list(messages),
            "max_tokens": self.sampling.max_tokens,
            "temperature": self.sampling.temperature,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "logprobs": True,
            "top_logprobs": 0,
            "return_token_ids": True,
            "skip_special_tokens": False,
            "stream": False,
        }
        if self.sampling.template:
            body["chat_template_kwargs"] = dict(self.sampling.template)
        return body


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads the answer to one request."""

    version: int
    seed: int
    count: int
    url: str

    def group(self, body: Any) -> Group:
        choices = body.get("choices") if isinstance(body, dict) else None
        if not isinstance(choices, list) or not all(isinstance(one, dict) for one in choices):
            raise Unusable("an answer without choices")
        if len(choices) != self.count:
            self._unfit(f"{len(choices)} choices for n = {self.count}")
        prompt_ids = self._ids(body.get("prompt_token_ids"), "prompt_token_ids")
        places = sorted(range(self.count), key=lambda at: choices[at].get("index", at))
        return tuple(
            self._sample(choices[at], prompt_ids, place) for place, at in enumerate(places)
        )

    def _sample(self, choice: Mapping[str, Any], prompt_ids: tuple[int, ...], place: int) -> Sample:
        reason = choice.get("finish_reason")
        if reason in _UNFINISHED or not isinstance(reason, str):
            raise Unusable(f"choice {place} wasn't finished (finish_reason {reason!r})")
        message = choice.get("message")
        text = message.get("content") if isinstance(message, Mapping) else None
        completion_ids = self._ids(choice.get("token_ids"), "token_ids")
        return Sample(
            prompt_ids=prompt_ids,
            completion_ids=completion_ids,
            sampler_logprobs=self._logprobs(choice, len(completion_ids), place),
            text=text or "",
            finish_reason=reason,
            version=self.version,
            seed=self.seed + place,
        )

    def _ids(self, value: Any, name: str) -> tuple[int, ...]:
        if not isinstance(value, list) or not value or not all(type(one) is int for one in value):
            self._unfit(f'"{name}" is {value!r:.60}, where return_token_ids asks for a list')
        return tuple(value)

    def _logprobs(self, choice: Mapping[str, Any], tokens: int, place: int) -> tuple[float, ...]:
        told = choice.get("logprobs")
        content = told.get("content") if isinstance(told, Mapping) else None
        if not isinstance(content, list):
            self._unfit(f"choice {place} has no logprobs")
        if len(content) != tokens:
            self._unfit(f"choice {place} has {len(content)} logprobs for {tokens} tokens")
        return tuple(self._logprob(one, place, at) for at, one in enumerate(content))

    def _logprob(self, told: Any, place: int, at: int) -> float:
        value = told.get("logprob") if isinstance(told, Mapping) else None
        if not isinstance(value, int | float) or not isfinite(value) or value <= _FLOOR:
            raise Unusable(
                f"choice {place} has the logprob {value} at token {at}, which isn't finite"
            )
        return float(value)

    def _unfit(self, seen: str) -> NoReturn:
        raise SettingsError(
            f"{self.url}: {seen}. It must be a vLLM that gives token ids and logprobs; start it "
            "with the command that `tmas train serve MODEL` prints."
        )
