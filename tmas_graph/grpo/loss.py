"""The objective of a step, as pure functions of log-probabilities.

    J(θ) = mean over prompts of 1/Σ|o_i| · Σ_i Σ_t min(ρ_it A_i, clip(ρ_it, 1−ε_low, 1+ε_high) A_i)

and the loss is −J, without a KL term. Completions are flat: N tokens of R rows, row_N says which
row a token belongs to, so that packing and padding can't matter. What a token weighs (weights_R,
see weighing.py) is fixed once per optimiser step.

Departures from the paper, each off by default but 1: 1. log-ratios beyond ±20 are cut, so that no
ratio is infinite. 2. Dual clip, k3 to a reference, weights for trainer/server mismatch.
3. Sequence ratios (GSPO) and CISPO in place of the clipped surrogate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from tmas_graph.grpo.knobs import Knobs

_MOST = 20.0
"""Largest log-ratio: e^20 is finite in every dtype that is used, and so is its gradient."""


class LossSettings(Knobs):
    """Which objective is optimised; the defaults are the paper's."""

    algorithm: Literal["grpo", "gspo", "cispo"] = "grpo"
    """Token ratios, one ratio per sequence, or REINFORCE weighed by cut ratios."""
    clip_low: float = Field(0.2, ge=0, le=1)
    """ε_low: below 1 − ε_low a ratio earns nothing more where the advantage is negative."""
    clip_high: float = Field(0.28, ge=0)
    """ε_high: above 1 + ε_high a ratio earns nothing more where the advantage is positive."""
    dual_clip: float | None = Field(None, gt=1)
    """Largest ratio that counts where the advantage is negative; none: there is no limit."""
    kl_coefficient: float = Field(0.0, ge=0)
    """Weight of k3 to the reference policy."""
    mismatch: Literal["off", "truncate", "mask"] = "off"
    """What becomes of tokens that trainer and server rate differently."""
    mismatch_level: Literal["token", "sequence"] = "token"
    """Weigh each token by its own ratio, or by that of its sequence (the product)."""
    mismatch_low: float = Field(0.0, ge=0)
    """Under `mask`, tokens with a ratio below it are left out."""
    mismatch_high: float = Field(2.0, gt=0)
    """Under `truncate` the largest weight; under `mask`, tokens above it are left out."""


@dataclass(frozen=True, slots=True)
class LossInputs:
    """N completion tokens of R rows; only `logprobs_N` has a gradient."""

    logprobs_N: Tensor
    """Of the policy that is trained."""
    old_logprobs_N: Tensor
    """By the trainer's own forward, of the policy before this batch."""
    advantages_N: Tensor
    row_N: Tensor
    """Row of each token, from 0 to R − 1."""
    weights_R: Tensor
    """What each token of a row weighs."""
    mask_N: Tensor | None = None
    """False: the token is left out; none: all count."""
    sampler_logprobs_N: Tensor | None = None
    """By the server; NaN or none: unknown, and weighed 1."""
    reference_logprobs_N: Tensor | None = None


@dataclass(frozen=True, slots=True)
class LossOutputs:
    """The loss, and sums over the tokens that count, to be divided by `sums["tokens"]`."""

    loss: Tensor
    sums: Mapping[str, Tensor]
    """Without gradient: tokens, clipped_low, clipped_high, dual_clipped, ratio, k3, mismatch_…"""
    per_token_N: Tensor
    """Of each token before it is weighed, without gradient; 0 where masked."""


def policy_loss(given: LossInputs, settings: LossSettings | None = None) -> LossOutputs:
    """Give Σ over tokens of weight · loss; its gradient is that of the whole step's share."""
    settings = settings or LossSettings()
    mask_N = (
        torch.ones_like(given.row_N, dtype=torch.bool) if given.mask_N is None else given.mask_N
    )
    ratios_N = _ratios(given, mask_N, settings)
    clipped_N, shares = _surrogate(given, ratios_N, settings)
    mismatch_N, mismatch_sums = _mismatch(given, mask_N, settings)
    losses_N = clipped_N * mismatch_N
    if given.reference_logprobs_N is not None:
        k3_N = k3(given.logprobs_N, given.reference_logprobs_N)
        shares["k3"] = k3_N.detach()
        if settings.kl_coefficient:
            losses_N = losses_N + settings.kl_coefficient * k3_N
    # where, not a product: 0 · NaN is NaN, in the gradient as well.
    losses_N = torch.where(mask_N, losses_N, 0.0)
    sums = {name: torch.where(mask_N, values_N, 0.0).sum() for name, values_N in shares.items()}
    sums["ratio"] = torch.where(mask_N, ratios_N.detach(), 0.0).sum()
    sums["tokens"] = mask_N.sum()
    loss = (losses_N * given.weights_R[given.row_N]).sum()
    return LossOutputs(loss, {**sums, **mismatch_sums}, losses_N.detach())


def k3(logprobs_N: Tensor, reference_logprobs_N: Tensor) -> Tensor:
    """Estimate KL(policy ∥ reference) per token: never negative, unbiased (Schulman's k3)."""
    log_ratio_N = (reference_logprobs_N - logprobs_N).clamp(-_MOST, _MOST)
    return log_ratio_N.exp() - log_ratio_N - 1.0


def _ratios(given: LossInputs, mask_N: Tensor, settings: LossSettings) -> Tensor:
    """Policy over old policy: per token, or the geometric mean of a row for each of its tokens."""
    log_ratio_N = torch.where(mask_N, given.logprobs_N - given.old_logprobs_N, 0.0)
    if settings.algorithm == "gspo":
        count_R = _per_row(mask_N.to(log_ratio_N.dtype), given).clamp(min=1.0)
        log_ratio_N = (_per_row(log_ratio_N, given) / count_R)[given.row_N]
    return log_ratio_N.clamp(-_MOST, _MOST).exp()


def _surrogate(
    given: LossInputs, ratios_N: Tensor, settings: LossSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """The loss of each token before the mismatch is weighed, and where it was clipped."""
    advantages_N = given.advantages_N
    low, high = 1.0 - settings.clip_low, 1.0 + settings.clip_high
    shares = {
        "clipped_low": (ratios_N < low) & (advantages_N < 0),
        "clipped_high": (ratios_N > high) & (advantages_N > 0),
    }
    if settings.algorithm == "cispo":
        # Cut from above whatever the sign, never from below; the gradient is that of logprobs.
        losses_N = -ratios_N.detach().clamp(max=high) * advantages_N * given.logprobs_N
        shares = {"clipped_high": ratios_N > high}
    else:
        kept_N = ratios_N
        if settings.dual_clip is not None:
            shares["dual_clipped"] = (ratios_N > settings.dual_clip) & (advantages_N < 0)
            kept_N = torch.where(advantages_N < 0, ratios_N.clamp(max=settings.dual_clip), ratios_N)
        losses_N = -torch.minimum(kept_N * advantages_N, ratios_N.clamp(low, high) * advantages_N)
    return losses_N, {name: where_N.to(ratios_N.dtype) for name, where_N in shares.items()}


def _mismatch(
    given: LossInputs, mask_N: Tensor, settings: LossSettings
) -> tuple[Tensor, dict[str, Tensor]]:
    """What each token weighs because the server rated it differently; sums to be logged.

    `mismatch_kl` is k3 of KL(server ∥ trainer), from the server's samples.
    """
    ones_N = torch.ones_like(given.old_logprobs_N)
    if given.sampler_logprobs_N is None:
        return ones_N, {}
    known_N = mask_N & ~given.sampler_logprobs_N.isnan()
    log_ratio_N = torch.where(
        known_N, given.old_logprobs_N - given.sampler_logprobs_N, 0.0
    ).detach()
    capped_N = log_ratio_N.clamp(-_MOST, _MOST)
    sums = {
        "mismatch_tokens": known_N.sum(),
        "mismatch_kl": (capped_N.exp() - capped_N - 1.0).sum(),
        "mismatch_gap": log_ratio_N.abs().sum(),
    }
    if settings.mismatch == "off":
        return ones_N, sums
    if settings.mismatch_level == "sequence":
        log_ratio_N = _per_row(log_ratio_N, given)[given.row_N]
    ratio_N = log_ratio_N.clamp(-_MOST, _MOST).exp()
    outside_N = ratio_N > settings.mismatch_high
    if settings.mismatch == "mask":
        outside_N = outside_N | (ratio_N < settings.mismatch_low)
    sums["mismatch_cut"] = (outside_N & known_N).sum()
    cut = 0.0 if settings.mismatch == "mask" else settings.mismatch_high
    weights_N = torch.where(outside_N, cut, ratio_N)
    return torch.where(known_N, weights_N, 1.0), sums


def _per_row(values_N: Tensor, given: LossInputs) -> Tensor:
    sums_R = values_N.new_zeros(given.weights_R.shape)
    return sums_R.index_add(0, given.row_N, values_N)


def likelihood_loss(
    logprobs_N: Tensor, row_N: Tensor, weights_R: Tensor, mask_N: Tensor
) -> LossOutputs:
    """Give Σ over tokens of weight · −log p: supervised fine-tuning."""
    losses_N = torch.where(mask_N, -logprobs_N, 0.0)
    loss = (losses_N * weights_R[row_N]).sum()
    detached_N = losses_N.detach()
    return LossOutputs(loss, {"tokens": mask_N.sum(), "nll": detached_N.sum()}, detached_N)
