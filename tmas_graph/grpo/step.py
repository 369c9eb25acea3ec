"""One step of the optimiser over the rows of some groups.

weights → microbatches → gradients → norm → step, the first and the last once, whatever lies
between. A step that has nothing to learn from leaves weights and moments alone; one whose numbers
aren't finite stops the run before anything is changed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import torch
from pydantic import Field

from tmas_graph.errors import TrainingStopped
from tmas_graph.grpo.accumulating import Objective, Part, Pass, accumulate
from tmas_graph.grpo.knobs import Knobs
from tmas_graph.grpo.loss import LossInputs, LossOutputs, LossSettings, policy_loss
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.samples import Rate, TrainingRow
from tmas_graph.grpo.sft import sft_objective
from tmas_graph.grpo.weighing import Normaliser, weights

_PER_TOKEN = {
    "clip/low": "clipped_low",
    "clip/high": "clipped_high",
    "clip/dual": "dual_clipped",
    "ratio": "ratio",
    "k3": "k3",
    "nll": "nll",
    "entropy": "entropy",
}
_PER_SAMPLED = {
    "mismatch_kl": "mismatch_kl",
    "mismatch/gap": "mismatch_gap",
    "mismatch/cut": "mismatch_cut",
}


class StepSettings(Knobs):
    """What one step does."""

    loss: LossSettings = LossSettings()
    """The objective."""
    normaliser: Normaliser = "group"
    """What losses are divided by: the paper's `group`, `batch`, `sequence` or `constant`."""
    constant_length: int = Field(0, ge=0)
    """L of the normaliser `constant`: the longest completion that is sampled."""
    tokens_per_batch: int = Field(16_384, ge=1)
    """Tokens of prompts and completions in one microbatch; has no influence on the result."""
    max_grad_norm: float = Field(1.0, gt=0)
    """Longer gradients are cut to this length."""
    temperature: float = Field(1.0, gt=0)
    """The one that the samples were drawn with."""


@dataclass(frozen=True, slots=True)
class StepReport:
    """What a step did, over all ranks."""

    loss: float
    grad_norm: float
    """Before it was cut."""
    metrics: Mapping[str, Rate]
    stepped: bool
    """False: no row had anything to teach, nothing was changed."""


def grpo_step(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[TrainingRow],
    settings: StepSettings,
    ranks: Ranks | None = None,
) -> StepReport:
    """Make one step on this rank's `rows`; every rank of `ranks` must call it.

    Raises:
        TrainingStopped: loss or gradient isn't finite; nothing was changed.
    """
    objective = partial(grpo_objective, settings=settings.loss)
    return _step(policy, optimizer, rows, settings, objective, ranks or Ranks())


def sft_step(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[TrainingRow],
    settings: StepSettings,
    ranks: Ranks | None = None,
) -> StepReport:
    """Make one step of supervised fine-tuning, otherwise as `grpo_step`."""
    return _step(policy, optimizer, rows, settings, sft_objective, ranks or Ranks())


def grpo_objective(part: Part, settings: LossSettings) -> LossOutputs:
    """Give the policy loss of one microbatch."""
    logprobs_N = part.tokens.logprobs_N
    advantages_R = logprobs_N.new_tensor([row.advantage for row in part.rows])
    given = LossInputs(
        logprobs_N,
        _old_logprobs(part),
        advantages_R[part.batch.row_N],
        part.batch.row_N,
        part.weights_R,
        part.batch.mask_N,
        part.batch.sampler_logprobs_N.to(logprobs_N.dtype),
        part.reference_logprobs_N,
    )
    return policy_loss(given, settings)


def _old_logprobs(part: Part) -> torch.Tensor:
    """Those given with a row, else the policy's own: in the first step the two are the same."""
    old_N = part.tokens.logprobs_N.detach().clone()
    for place, row in enumerate(part.rows):
        if row.old_logprobs:
            old_N[part.batch.row_N == place] = old_N.new_tensor(row.old_logprobs)
    return old_N


def _step(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    rows: Sequence[TrainingRow],
    settings: StepSettings,
    objective: Objective,
    ranks: Ranks,
) -> StepReport:
    weights_R = weights(
        [row.sample.counted for row in rows],
        [row.group for row in rows],
        settings.normaliser,
        constant=settings.constant_length,
        summed=ranks.summed,
    )
    optimizer.zero_grad(set_to_none=True)
    with_reference = objective is not sft_objective and settings.loss.kl_coefficient > 0
    way = Pass(settings.tokens_per_batch, settings.temperature, with_reference)
    sums = accumulate(policy, rows, weights_R, objective, way, ranks)
    if not sums.get("tokens"):
        optimizer.zero_grad(set_to_none=True)
        return StepReport(0.0, 0.0, {}, stepped=False)
    norm = _clip(policy, settings.max_grad_norm)
    _stop_unless_finite(sums, norm, rows, optimizer)
    optimizer.step()
    count = ranks.summed(torch.tensor([len(rows)], dtype=torch.float64)).item()
    return StepReport(sums["loss"], norm, _metrics(sums, count), stepped=True)


def _clip(policy: Policy, most: float) -> float:
    """Cut the gradient; give the norm that it had, over all shards."""
    norm: Any = torch.nn.utils.clip_grad_norm_(policy.parameters(), most)
    return float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)


def _stop_unless_finite(
    sums: Mapping[str, float],
    norm: float,
    rows: Sequence[TrainingRow],
    optimizer: torch.optim.Optimizer,
) -> None:
    if isfinite(norm) and isfinite(sums["loss"]):
        return
    optimizer.zero_grad(set_to_none=True)
    largest = max((abs(row.advantage) for row in rows), default=0.0)
    raise TrainingStopped(
        f"step: loss {sums['loss']:.6g}, gradient norm {norm:.6g}; {sums['not_finite']:.0f} of "
        f"{sums['tokens']:.0f} log-probabilities aren't finite, the largest advantage is "
        f"{largest:.6g}. The weights are as they were before the step. Resume from the last "
        "checkpoint with a lower learning rate, or with mismatch = truncate."
    )


def _metrics(sums: Mapping[str, float], rows: float) -> dict[str, Rate]:
    metrics = {
        name: Rate(sums[key], sums["tokens"]) for name, key in _PER_TOKEN.items() if key in sums
    }
    sampled = sums.get("mismatch_tokens", 0.0)
    metrics |= {name: Rate(sums[key], sampled) for name, key in _PER_SAMPLED.items() if key in sums}
    metrics["completion_tokens"] = Rate(sums["completion_tokens"], rows)
    metrics["counted_tokens"] = Rate(sums["tokens"], rows)
    return metrics
