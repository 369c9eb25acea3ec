import math

import pytest
import torch
from torch import Tensor

from tmas_graph.grpo.loss import LossInputs, LossOutputs, LossSettings, k3, policy_loss

F64 = torch.float64
SYMMETRIC = LossSettings(clip_high=0.2)
FIRST = torch.tensor([-1.69315, -1.0, -0.59453], dtype=F64)
"""Log-probabilities that are .5, 1 and 1.5 times as likely as at −1."""


def tensor(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=F64)


def inputs(logprobs: Tensor, old: Tensor, advantages: Tensor, **changes: Tensor) -> LossInputs:
    """Tokens of one row, each of which weighs one part of all."""
    given = {
        "row_N": torch.zeros(len(logprobs), dtype=torch.long),
        "weights_R": torch.full((1,), 1 / len(logprobs), dtype=F64),
        **changes,
    }
    return LossInputs(logprobs, old, advantages, **given)


def of_ratios(ratios: list[float], advantage: float, settings: LossSettings) -> LossOutputs:
    logprobs = tensor(ratios).log().requires_grad_()
    advantages = torch.full_like(logprobs, advantage)
    return policy_loss(inputs(logprobs, torch.zeros_like(logprobs), advantages), settings)


@pytest.mark.parametrize(
    ("settings", "each", "mean"),
    [
        (SYMMETRIC, [-0.5, 1, -2.4], -0.633333),
        (LossSettings(), [-0.5, 1, -2.56], -0.686667),
    ],
)
def test_ratios_are_clipped_on_the_side_that_would_gain(
    settings: LossSettings, each: list[float], mean: float
) -> None:
    outputs = policy_loss(inputs(FIRST, tensor([-1] * 3), tensor([1, -1, 2])), settings)
    torch.testing.assert_close(outputs.per_token_N, tensor(each), atol=1e-5, rtol=0)
    assert outputs.loss.item() == pytest.approx(mean, abs=1e-5)


RATIOS = [0.5, 0.79, 0.8, 1, 1.2, 1.28, 1.3, 2]


@pytest.mark.parametrize(
    ("advantage", "each"),
    [
        (1.0, [-0.5, -0.79, -0.8, -1, -1.2, -1.28, -1.28, -1.28]),
        (-1.0, [0.8, 0.8, 0.8, 1, 1.2, 1.28, 1.3, 2]),
    ],
)
def test_the_gain_ends_at_the_upper_bound_and_the_pain_at_the_lower(
    advantage: float, each: list[float]
) -> None:
    outputs = of_ratios(RATIOS, advantage, LossSettings())
    torch.testing.assert_close(outputs.per_token_N, tensor(each), atol=1e-12, rtol=0)


@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_only_clipped_tokens_have_no_gradient(advantage: float) -> None:
    ratios = tensor([0.5, 0.79, 0.81, 1, 1.2, 1.27, 1.3, 2])
    logprobs = ratios.log().requires_grad_()
    given = inputs(logprobs, torch.zeros_like(logprobs), torch.full_like(logprobs, advantage))
    (gradient,) = torch.autograd.grad(policy_loss(given).loss, logprobs)
    clipped = ratios > 1.28 if advantage > 0 else ratios < 0.8
    assert torch.equal(gradient == 0, clipped)


def test_clipped_tokens_are_counted_by_side() -> None:
    rises, falls = (of_ratios(RATIOS, sign, LossSettings()).sums for sign in (1.0, -1.0))
    assert (rises["clipped_high"], rises["clipped_low"]) == (2, 0)
    assert (falls["clipped_high"], falls["clipped_low"]) == (0, 2)
    assert rises["tokens"] == 8
    assert rises["ratio"].item() == pytest.approx(sum(RATIOS))


def token_mean(rows: slice = slice(0, 3), tokens: int = 7) -> LossInputs:
    """The rows of a 3 × 3 case, each token weighing one part of all that count."""
    logprobs = tensor([[-0.2, -0.4, -0.1], [-0.7, -0.3, -0.2], [-0.6, -0.1, -0.5]])[rows]
    ahead = tensor([[0.03, -0.04, 0.01], [0.02, 0.05, -0.03], [0.04, 0, -0.02]])[rows]
    advantages = tensor([[1, -0.5, 0], [0.3, -1.2, 0.5], [1.5, 0, -0.7]])[rows]
    mask = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 1]], dtype=torch.bool)[rows]
    return LossInputs(
        logprobs.flatten().requires_grad_(),
        (logprobs - ahead).flatten(),
        advantages.flatten(),
        torch.arange(len(logprobs)).repeat_interleave(3),
        torch.full((len(logprobs),), 1 / tokens, dtype=F64),
        mask.flatten(),
    )


def test_masked_tokens_count_neither_above_nor_below_the_line() -> None:
    assert policy_loss(token_mean(), SYMMETRIC).loss.item() == pytest.approx(-0.13641354, abs=1e-8)


def test_rows_may_be_split_between_ranks() -> None:
    parts = [policy_loss(token_mean(part), SYMMETRIC).loss for part in (slice(0, 2), slice(2, 3))]
    assert sum(parts).item() == pytest.approx(-0.13641354, abs=1e-8)


def test_what_the_server_rated_higher_weighs_less() -> None:
    settings = LossSettings(clip_high=0.2, mismatch="truncate", mismatch_high=0.8)
    sampled = tensor([-0.5, -1.5, -0.8])
    given = inputs(FIRST, tensor([-1] * 3), tensor([1, -1, 2]), sampler_logprobs_N=sampled)
    outputs = policy_loss(given, settings)
    assert outputs.loss.item() == pytest.approx(-0.474421, abs=1e-5)
    assert outputs.sums["mismatch_cut"] == 2
    off = policy_loss(given, SYMMETRIC)
    assert off.loss.item() == pytest.approx(-0.633333, abs=1e-5)
    gaps = [-0.5, 0.5, -0.2]
    kl = sum(math.exp(gap) - gap - 1 for gap in gaps)
    assert off.sums["mismatch_kl"].item() == pytest.approx(kl)
    assert off.sums["mismatch_gap"].item() == pytest.approx(1.2)


def test_tokens_that_the_server_rates_too_differently_are_left_out() -> None:
    settings = LossSettings(mismatch="mask", mismatch_low=0.7, mismatch_high=1.5)
    sampled = tensor([-0.5, -1.5, -0.8])
    given = inputs(FIRST, tensor([-1] * 3), tensor([1, -1, 2]), sampler_logprobs_N=sampled)
    each = policy_loss(given, settings).per_token_N
    torch.testing.assert_close(each, tensor([0, 0, -2.56 * math.exp(-0.2)]), atol=1e-5, rtol=0)


def test_the_mismatch_of_a_sequence_is_the_product_over_its_tokens() -> None:
    settings = LossSettings(mismatch="truncate", mismatch_level="sequence", mismatch_high=10)
    sampled = tensor([-0.5, -1.5, -0.8])
    given = inputs(FIRST, tensor([-1] * 3), tensor([1, -1, 2]), sampler_logprobs_N=sampled)
    each = policy_loss(given, settings).per_token_N
    expected = tensor([-0.5, 1, -2.56]) * math.exp(-0.2)
    torch.testing.assert_close(each, expected, atol=1e-5, rtol=0)


def test_unknown_server_logprobs_weigh_one_and_are_not_counted() -> None:
    settings = LossSettings(mismatch="truncate", mismatch_high=0.8)
    sampled = tensor([math.nan, -1.5, -1.0])
    given = inputs(FIRST, tensor([-1] * 3), tensor([1, -1, 2]), sampler_logprobs_N=sampled)
    outputs = policy_loss(given, settings)
    assert outputs.sums["mismatch_tokens"] == 2
    # A known ratio of 1 is cut to .8, an unknown one isn't.
    torch.testing.assert_close(
        outputs.per_token_N, tensor([-0.5, 0.8, -2.56 * 0.8]), atol=1e-5, rtol=0
    )


def test_k3_is_the_published_one_and_never_negative() -> None:
    policy = torch.zeros(3, dtype=F64)
    reference = tensor([-1, 0, 1])
    expected = tensor([0.367879, 0, 0.718282])
    torch.testing.assert_close(k3(policy, reference), expected, atol=1e-6, rtol=0)


def test_the_distance_to_a_reference_is_added_with_its_coefficient() -> None:
    zeros = torch.zeros(3, dtype=F64)
    given = inputs(zeros, zeros, zeros, reference_logprobs_N=tensor([-1, 0, 1]))
    outputs = policy_loss(given, LossSettings(kl_coefficient=0.3))
    assert outputs.loss.item() == pytest.approx(0.3 * (0.367879 + 0.718282) / 3, abs=1e-6)
    assert policy_loss(given).loss == 0
    assert policy_loss(given).sums["k3"].item() == pytest.approx(1.086161, abs=1e-6)


def test_a_batch_without_any_counted_token_is_exactly_zero() -> None:
    logprobs = tensor([math.nan, -1e30, 3.0]).requires_grad_()
    given = LossInputs(
        logprobs,
        tensor([0, math.inf, -1]),
        tensor([1, math.nan, 1]),
        torch.zeros(3, dtype=torch.long),
        torch.zeros(1, dtype=F64),
        torch.zeros(3, dtype=torch.bool),
    )
    outputs = policy_loss(given)
    outputs.loss.backward()
    assert outputs.loss.item() == 0
    assert torch.equal(logprobs.grad, torch.zeros(3, dtype=F64))


def test_what_is_masked_may_be_anything() -> None:
    logprobs = tensor([-0.5, math.nan, -math.inf]).requires_grad_()
    mask = torch.tensor([True, False, False])
    given = inputs(logprobs, tensor([-0.5, 0, 0]), tensor([2, 1, -1]), mask_N=mask)
    outputs = policy_loss(given)
    outputs.loss.backward()
    assert outputs.loss.item() == pytest.approx(-2 / 3)
    torch.testing.assert_close(logprobs.grad, tensor([-2 / 3, 0, 0]))


def test_a_ratio_that_exploded_gives_no_infinity() -> None:
    logprobs = torch.tensor([200.0, -200.0]).requires_grad_()
    given = LossInputs(
        logprobs,
        torch.tensor([-200.0, 200.0]),
        torch.tensor([1.0, -1.0]),
        torch.tensor([0, 0]),
        torch.tensor([0.5]),
    )
    outputs = policy_loss(given)
    outputs.loss.backward()
    assert outputs.loss.isfinite()
    assert logprobs.grad.isfinite().all()


def test_dual_clip_bounds_the_loss_of_bad_tokens_alone() -> None:
    settings = LossSettings(dual_clip=3)
    bad, good = (of_ratios([0.5, 2, 5], sign, settings) for sign in (-1.0, 1.0))
    torch.testing.assert_close(bad.per_token_N, tensor([0.8, 2, 3]), atol=1e-12, rtol=0)
    torch.testing.assert_close(good.per_token_N, tensor([-0.5, -1.28, -1.28]), atol=1e-12, rtol=0)
    assert (bad.sums["dual_clipped"], good.sums["dual_clipped"]) == (1, 0)


def test_gspo_clips_a_sequence_as_a_whole() -> None:
    ratios = tensor([2.0, 0.5, 1.2, 3.0])
    given = LossInputs(
        ratios.log(),
        torch.zeros(4, dtype=F64),
        torch.ones(4, dtype=F64),
        torch.tensor([0, 0, 1, 1]),
        torch.full((2,), 0.25, dtype=F64),
        torch.tensor([True, True, True, False]),
    )
    outputs = policy_loss(given, LossSettings(algorithm="gspo", clip_high=0.1))
    # √(2 · .5) = 1 for the first; 1.2 for the second, whose other token is masked.
    torch.testing.assert_close(outputs.per_token_N, tensor([-1, -1, -1.1, 0]))


def test_cispo_cuts_the_weight_and_keeps_the_gradient() -> None:
    logprobs = tensor([0.5, 1, 2]).log().requires_grad_()
    given = inputs(logprobs, torch.zeros(3, dtype=F64), tensor([1, -1, 2]))
    outputs = policy_loss(given, LossSettings(algorithm="cispo"))
    (gradient,) = torch.autograd.grad(outputs.loss, logprobs)
    torch.testing.assert_close(gradient, tensor([-0.5, 1, -2.56]) / 3)
    assert outputs.sums["clipped_high"] == 1


@pytest.mark.parametrize("algorithm", ["grpo", "gspo", "cispo"])
def test_gradients_are_those_of_finite_differences(algorithm: str) -> None:
    torch.manual_seed(1)
    settings = LossSettings.model_validate(
        {"algorithm": algorithm, "dual_clip": 2.0, "kl_coefficient": 0.1, "mismatch": "off"}
    )
    old = -torch.rand(12, dtype=F64)
    fixed = {
        "row_N": torch.arange(4).repeat_interleave(3),
        "weights_R": torch.rand(4, dtype=F64),
        "mask_N": torch.arange(12) % 5 != 4,
        "sampler_logprobs_N": old + 0.1 * torch.randn(12, dtype=F64),
        "reference_logprobs_N": old + 0.1 * torch.randn(12, dtype=F64),
    }
    advantages = torch.randn(12, dtype=F64)
    logprobs = (old + 0.3 * torch.randn(12, dtype=F64)).requires_grad_()
    ratios = (logprobs - old).exp().detach()

    def loss(values: Tensor) -> Tensor:
        if algorithm != "cispo":
            return policy_loss(inputs(values, old, advantages, **fixed), settings).loss
        # Its weights are constants to the gradient, so the ratios stay as they are here.
        given = inputs(values, values.detach() - ratios.log(), advantages, **fixed)
        return policy_loss(given, settings).loss

    assert torch.autograd.gradcheck(loss, (logprobs,), eps=1e-7, atol=1e-6)
