"""Compares the server's log-probabilities with the trainer's: are both the same policy?

Checked after every push, since a server can keep parts of old weights and say that all went well.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tmas_graph.errors import PolicyMismatch
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.samples import Sample
from tmas_graph.grpo.sampling import CHAT, Sampler

Logprobs = Callable[[Sequence[int], Sequence[int]], Sequence[float]]
"""`(prompt_ids, completion_ids)` -> of each completion token, by the trainer's forward, at the
temperature of sampling."""
BOUND = 1e-3
"""In float32 vLLM and transformers differ by 1e-5; bfloat16 needs 0.05 or more."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Parity:
    """How far server and trainer are apart."""

    tokens: int
    difference: float
    """Largest absolute one of a token's two log-probabilities."""
    mean_difference: float
    positions: tuple[tuple[int, int], ...]
    """Sample and token of the largest ones, largest first."""
    server: float
    """Log-probability at the first position, by the server."""
    trainer: float


def compare(samples: Sequence[Sample], logprobs: Logprobs) -> Parity:
    """Compare the log-probabilities that `samples` came with, and the trainer's own."""
    rows = [
        (abs(own - other), row, token, other, own)
        for row, sample in enumerate(samples)
        for token, (own, other) in enumerate(
            zip(
                logprobs(sample.prompt_ids, sample.completion_ids),
                sample.sampler_logprobs,
                strict=True,
            )
        )
    ]
    # A NaN is further off than any number.
    rows.sort(key=lambda row: (not math.isnan(row[0]), -row[0], row[1:3]))
    largest = rows[0]
    return Parity(
        tokens=len(rows),
        difference=largest[0],
        mean_difference=sum(row[0] for row in rows) / len(rows),
        positions=tuple((row[1], row[2]) for row in rows[:_SHOWN]),
        server=largest[3],
        trainer=largest[4],
    )


async def check(
    sampler: Sampler,
    messages: Sequence[Message],
    logprobs: Logprobs,
    *,
    bound: float = BOUND,
    seed: int = 0,
) -> Parity:
    """Sample twice at the server, and compare.

    Raises:
        PolicyMismatch: some log-probability differs by more than `bound`.
        EndpointDown, RequestRefused: nothing could be sampled.
    """
    parity = compare(await sampler.group(messages, seed, 2), logprobs)
    if parity.difference <= bound:
        return parity
    row, token = parity.positions[0]
    others = ", ".join(f"{r}:{t}" for r, t in parity.positions[1:])
    raise PolicyMismatch(
        f"parity: version {sampler.served.version} at {sampler.server.url}: token {token} of "
        f"sample {row} has the log-probability {parity.server:.6f} at the server and "
        f"{parity.trainer:.6f} at the trainer; they differ by {parity.difference:.6f}, the bound "
        f"is {bound:g} (mean over {parity.tokens} tokens {parity.mean_difference:.6f}"
        f"{', next ' + others if others else ''}). {await _advice(sampler, messages)}",
        parity.difference,
    )


async def _advice(sampler: Sampler, messages: Sequence[Message]) -> str:
    if await gives_raw_logprobs(sampler, messages):
        return (
            "The server gives raw log-probabilities, before the temperature: start it with "
            "--logprobs-mode processed_logprobs, as `tmas train serve` prints."
        )
    return (
        "The server doesn't have the trainer's weights: serve the model that is trained, an untied "
        "copy where its embeddings are tied (`python -m tmas_graph.grpo untie`), and push again. "
        "Where the model runs in bfloat16, set a higher bound."
    )


async def gives_raw_logprobs(sampler: Sampler, messages: Sequence[Message]) -> bool:
    """Do the server's log-probabilities leave the temperature out?

    Processed ones of the most likely token change with it, raw ones don't.
    """
    cold, hot = [await _greatest_logprob(sampler, messages, t) for t in (1.0, 2.0)]
    is_certain = cold > -1e-4  # then it hardly changes in any case
    return not is_certain and abs(cold - hot) < 1e-4


async def _greatest_logprob(
    sampler: Sampler, messages: Sequence[Message], temperature: float
) -> float:
    body = {
        **sampler.request(messages),
        "model": sampler.served.model,
        "temperature": temperature,
        "top_logprobs": 2,
        "max_tokens": 1,
        "seed": 0,
    }

    def greatest(answer: Any) -> float:
        [token] = answer["choices"][0]["logprobs"]["content"]
        return max(float(one["logprob"]) for one in (token, *token["top_logprobs"]))

    return await sampler.server.post(CHAT, body, sampler.patience, greatest)
