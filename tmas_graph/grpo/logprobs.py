"""Log-probabilities and entropies of tokens without the logits of all of them at once.

Hidden states meet the output head in tiles of a few tokens; backward computes each tile's logits
anew. What is alive at any time is one tile of [tile × V], never [N × V]: at V = 152k and 8k
tokens the dense way holds 5 GB for the logits alone, and several times that in backward.

With p = softmax(z), z = (h Wᵀ + u Bᵀ)/τ, H = −Σ p log p, a tile's gradient is
∂(log p_y)/∂z_j = [j = y] − p_j  and  ∂H/∂z_j = −p_j (log p_j + H).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

_TILE = 1 << 23
"""Logits of a tile: 32 MB in float32."""


@dataclass(frozen=True, slots=True)
class Head:
    """The output head, as tensors with or without a gradient."""

    weight_VH: Tensor
    down_KH: Tensor | None = None
    """First factor of a LoRA of rank K; the head is then weight + scale · up @ down."""
    up_VK: Tensor | None = None
    scale: float = 1.0


class TokenLogprobs(NamedTuple):
    """What is known of N tokens."""

    logprobs_N: Tensor
    entropies_N: Tensor
    """Of the whole distribution that each token was drawn from, in nats."""


def token_logprobs(
    hidden_NH: Tensor,
    targets_N: Tensor,
    head: Head,
    *,
    temperature: float = 1.0,
    dtype: torch.dtype | None = None,
    tile: int | None = None,
) -> TokenLogprobs:
    """Give log-probability and entropy of each target, in float32 or, for float64, float64.

    `dtype` is that of the products with the head (None: as the hidden states are), `tile` the
    tokens of a tile (None: as many as fit 8 million logits).
    """
    dtype = dtype or hidden_NH.dtype
    low_NK = None
    if head.down_KH is not None and head.up_VK is not None:
        # Small, so autograd keeps it; only the products that are V wide go through the tiles.
        low_NK = head.scale * (hidden_NH.to(dtype) @ head.down_KH.to(dtype).T)
    tile = tile or max(1, _TILE // head.weight_VH.shape[0])
    plan = _Plan(temperature, dtype, tile)
    logprobs_N, entropies_N = _Tiled.apply(  # type: ignore[no-untyped-call]
        hidden_NH, head.weight_VH, low_NK, head.up_VK, targets_N, plan
    )
    return TokenLogprobs(logprobs_N, entropies_N)


class _Plan(NamedTuple):
    temperature: float
    dtype: torch.dtype
    tile: int


def _wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype of softmax and sums."""
    return torch.float64 if dtype == torch.float64 else torch.float32


class _Tiled(torch.autograd.Function):
    """(hidden [N, H], weight [V, H], low [N, K], up [V, K], targets [N]) to two of [N]."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_NH: Tensor,
        weight_VH: Tensor,
        low_NK: Tensor | None,
        up_VK: Tensor | None,
        targets_N: Tensor,
        plan: _Plan,
    ) -> tuple[Tensor, Tensor]:
        wide = _wide(plan.dtype)
        factors = _Factors.cast((hidden_NH, weight_VH, low_NK, up_VK), plan.dtype)
        logprobs_N = hidden_NH.new_empty(len(targets_N), dtype=wide)
        log_sums_N, entropies_N = torch.empty_like(logprobs_N), torch.empty_like(logprobs_N)
        for at in range(0, len(targets_N), plan.tile):
            part = slice(at, at + plan.tile)
            logits_TV = factors.logits(part, plan)
            log_sums_N[part] = logits_TV.logsumexp(-1)
            chosen_T = logits_TV.gather(-1, targets_N[part, None])[:, 0]
            logprobs_N[part] = chosen_T - log_sums_N[part]
            probabilities_TV = (logits_TV - log_sums_N[part, None]).exp_()
            # H = log Σ e^z − Σ p z
            entropies_N[part] = log_sums_N[part] - probabilities_TV.mul_(logits_TV).sum(-1)
        ctx.save_for_backward(
            hidden_NH, weight_VH, low_NK, up_VK, targets_N, log_sums_N, entropies_N
        )
        ctx.plan = plan
        ctx.set_materialize_grads(False)
        return logprobs_N, entropies_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_logprobs_N: Tensor | None, by_entropies_N: Tensor | None) -> Any:
        if by_logprobs_N is None and by_entropies_N is None:
            return None, None, None, None, None, None
        plan: _Plan = ctx.plan
        inputs, (targets_N, log_sums_N, entropies_N) = ctx.saved_tensors[:4], ctx.saved_tensors[4:]
        factors = _Factors.cast(inputs, plan.dtype)
        sums = _Sums.like(inputs, ctx.needs_input_grad)
        for at in range(0, len(targets_N), plan.tile):
            part = slice(at, at + plan.tile)
            logits_TV = factors.logits(part, plan).sub_(log_sums_N[part, None])
            by_logits_TV = _by_logits(
                logits_TV,
                targets_N[part],
                None if by_logprobs_N is None else by_logprobs_N[part],
                None if by_entropies_N is None else (by_entropies_N[part], entropies_N[part]),
            )
            sums.add(by_logits_TV.div_(plan.temperature).to(plan.dtype), factors, part)
        return sums.hidden_NH, sums.weight_VH, sums.low_NK, sums.up_VK, None, None


def _by_logits(
    logs_TV: Tensor,
    targets_T: Tensor,
    by_logprobs_T: Tensor | None,
    by_entropies: tuple[Tensor, Tensor] | None,
) -> Tensor:
    """Gradient by scaled logits [T, V], from log-probabilities [T, V], which it overwrites."""
    slope_TX = None if by_logprobs_T is None else by_logprobs_T[:, None]
    if by_entropies is not None:
        by_entropies_T, entropies_T = by_entropies
        bent_TV = (logs_TV + entropies_T[:, None]).mul_(by_entropies_T[:, None])
        slope_TX = bent_TV if slope_TX is None else bent_TV.add_(slope_TX)
    assert slope_TX is not None
    by_logits_TV = logs_TV.exp_().mul_(slope_TX).neg_()
    if by_logprobs_T is not None:
        by_logits_TV.scatter_add_(-1, targets_T[:, None], by_logprobs_T[:, None])
    return by_logits_TV


class _Factors(NamedTuple):
    """What is multiplied to give logits, in the dtype of the products."""

    hidden_NH: Tensor
    weight_VH: Tensor
    low_NK: Tensor | None
    up_VK: Tensor | None

    @classmethod
    def cast(cls, inputs: Sequence[Tensor | None], dtype: torch.dtype) -> "_Factors":
        """Cast all four; without a copy where the dtype is that already."""
        hidden_NH, weight_VH, low_NK, up_VK = (
            None if one is None else one.to(dtype) for one in inputs
        )
        assert hidden_NH is not None
        assert weight_VH is not None
        return cls(hidden_NH, weight_VH, low_NK, up_VK)

    def logits(self, part: slice, plan: _Plan) -> Tensor:
        """Scaled logits [T, V] of one tile."""
        logits_TV = self.hidden_NH[part] @ self.weight_VH.T
        if self.low_NK is not None and self.up_VK is not None:
            logits_TV = logits_TV.addmm_(self.low_NK[part], self.up_VK.T)
        return logits_TV.to(_wide(plan.dtype)).div_(plan.temperature)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Gradients by the inputs that need one; those of V rows are summed over tiles in place."""

    hidden_NH: Tensor | None
    weight_VH: Tensor | None
    low_NK: Tensor | None
    up_VK: Tensor | None

    @classmethod
    def like(cls, inputs: Sequence[Tensor | None], needed: Sequence[bool]) -> "_Sums":
        return cls(
            *(
                torch.zeros_like(one) if one is not None and wanted else None
                for one, wanted in zip(inputs, needed, strict=False)
            )
        )

    def add(self, by_logits_TV: Tensor, factors: _Factors, part: slice) -> None:
        if self.hidden_NH is not None:
            self.hidden_NH[part] = (by_logits_TV @ factors.weight_VH).to(self.hidden_NH.dtype)
        if self.low_NK is not None and factors.up_VK is not None:
            self.low_NK[part] = (by_logits_TV @ factors.up_VK).to(self.low_NK.dtype)
        _add_product(self.weight_VH, by_logits_TV, factors.hidden_NH[part])
        if factors.low_NK is not None:
            _add_product(self.up_VK, by_logits_TV, factors.low_NK[part])


def _add_product(sum_VX: Tensor | None, by_logits_TV: Tensor, other_TX: Tensor) -> None:
    """Add by_logitsᵀ @ other, in the dtype of the sum: many bfloat16 tiles would lose bits."""
    if sum_VX is None:
        return
    if sum_VX.dtype == by_logits_TV.dtype:
        sum_VX.addmm_(by_logits_TV.T, other_TX)
    else:
        sum_VX.add_(by_logits_TV.T @ other_TX)
