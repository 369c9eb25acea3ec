"""Gradients of a whole step, microbatch by microbatch, exactly as one large batch would give them.

Exact because what each token weighs is fixed before the first microbatch (weighing.py), and every
microbatch adds its share; nothing is divided by a number of microbatches or ranks.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tmas_graph.grpo.logprobs import TokenLogprobs
from tmas_graph.grpo.loss import LossOutputs
from tmas_graph.grpo.packing import Batch, bins, padded_bins
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.samples import Sample, TrainingRow

_NOTHING = TrainingRow(Sample((0,), (0,)), 0, 0.0)
"""A row of weight 0, for ranks that have fewer microbatches than others."""


@dataclass(frozen=True, slots=True)
class Part:
    """One microbatch, after the forward."""

    rows: Sequence[TrainingRow]
    batch: Batch
    tokens: TokenLogprobs
    weights_R: Tensor
    reference_logprobs_N: Tensor | None = None


Objective = Callable[[Part], LossOutputs]


@dataclass(frozen=True, slots=True)
class Pass:
    """How rows go through the policy."""

    tokens_per_batch: int = 16_384
    temperature: float = 1.0
    with_reference: bool = False


def microbatches(policy: Policy, rows: Sequence[TrainingRow], budget: int) -> list[list[int]]:
    """Give the places of the rows of each microbatch: packed if the policy can, else padded."""
    lengths = [row.sample.length for row in rows]
    return bins(lengths, budget) if policy.packs else padded_bins(lengths, budget)


def accumulate(
    policy: Policy,
    rows: Sequence[TrainingRow],
    weights_R: Tensor,
    objective: Objective,
    way: Pass,
    ranks: Ranks,
) -> Mapping[str, float]:
    """Add the gradients of all rows of all ranks to the policy's; give the sums of all ranks.

    The sums are those of `objective`, and "loss", "entropy", "completion_tokens", "not_finite".
    """
    places = microbatches(policy, rows, way.tokens_per_batch)
    sums = defaultdict[str, float](float)
    for at in range(_passes(policy, len(places), ranks)):
        chosen = [rows[place] for place in places[at]] if at < len(places) else [_NOTHING]
        part_weights_R = weights_R[places[at]] if at < len(places) else weights_R.new_zeros(1)
        part = _forward(policy, chosen, part_weights_R, way)
        outputs = objective(part)
        # FSDP2 takes the mean over ranks of what it adds up.
        (outputs.loss * (ranks.size if policy.is_sharded else 1)).backward()  # type: ignore[no-untyped-call]
        if at < len(places):
            _add(sums, part, outputs)
    if not policy.is_sharded:
        ranks.sum_gradients(policy.parameters())
    return _over_ranks(sums, ranks)


def _passes(policy: Policy, batches: int, ranks: Ranks) -> int:
    """Sharded weights are gathered in each forward, so all ranks must make as many."""
    return ranks.most(batches) if policy.is_sharded else batches


def _forward(policy: Policy, rows: Sequence[TrainingRow], weights_R: Tensor, way: Pass) -> Part:
    batch = policy.batched([row.sample for row in rows])
    reference_N = None
    if way.with_reference:
        with policy.reference():
            reference_N = policy(batch, way.temperature).logprobs_N
    tokens = policy(batch, way.temperature)
    weights_R = weights_R.to(tokens.logprobs_N)
    return Part(rows, batch, tokens, weights_R, reference_N)


def _add(sums: defaultdict[str, float], part: Part, outputs: LossOutputs) -> None:
    mask_N = part.batch.mask_N
    added = {
        **outputs.sums,
        "loss": outputs.loss.detach(),
        "entropy": torch.where(mask_N, part.tokens.entropies_N.detach(), 0.0).sum(),
        "not_finite": (mask_N & ~part.tokens.logprobs_N.isfinite()).sum(),
        "completion_tokens": mask_N.new_tensor(len(mask_N), dtype=torch.int64),
    }
    for name, value in added.items():
        sums[name] += value.item()


def _over_ranks(sums: Mapping[str, float], ranks: Ranks) -> dict[str, float]:
    """The sums of all ranks; one that has no rows knows no names, so the names are exchanged."""
    if ranks.size == 1:
        return dict(sums)
    names = ranks.union(sums)
    values = torch.tensor([sums.get(name, 0.0) for name in names], dtype=torch.float64)
    return dict(zip(names, ranks.summed(values).tolist(), strict=True))


def with_old_logprobs(
    policy: Policy, rows: Sequence[TrainingRow], way: Pass, ranks: Ranks | None = None
) -> tuple[TrainingRow, ...]:
    """Give the rows with log-probabilities of the policy as it is, for several steps on them.

    Every rank of `ranks` must call it.
    """
    places = microbatches(policy, rows, way.tokens_per_batch)
    old = dict[int, tuple[float, ...]]()
    for at in range(_passes(policy, len(places), ranks or Ranks())):
        chosen = places[at] if at < len(places) else []
        batch = policy.batched([rows[place].sample for place in chosen] or [_NOTHING.sample])
        with torch.no_grad():
            logprobs_N = policy(batch, way.temperature).logprobs_N
        for row, place in enumerate(chosen):
            old[place] = tuple(logprobs_N[batch.row_N == row].tolist())
    return tuple(row.with_old(old[place]) for place, row in enumerate(rows))
