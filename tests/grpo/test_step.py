import dataclasses
import functools
import math

import pytest
import torch
from tiny_models import gradients, largest_gap, tiny_qwen, training_rows

from tmas_graph.errors import TrainingStopped
from tmas_graph.grpo.accumulating import Pass, with_old_logprobs
from tmas_graph.grpo.loading import LoraSettings, ModelSettings, prepare
from tmas_graph.grpo.loss import LossSettings
from tmas_graph.grpo.packing import pack
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.samples import Sample, TrainingRow
from tmas_graph.grpo.step import StepReport, StepSettings, grpo_step, sft_step
from tmas_graph.grpo.weighing import Normaliser

ROWS = training_rows(9, groups=3)
ALL = LossSettings(mismatch="truncate", dual_clip=3.0)
NORMALISERS: list[Normaliser] = ["group", "batch", "sequence", "constant"]


def step_on(
    rows: list[TrainingRow], policy: Policy | None = None, way=grpo_step, **changes: object
) -> tuple[StepReport, dict[str, torch.Tensor], Policy]:
    """A step that changes nothing, so that its gradients can be seen."""
    policy = policy or Policy(tiny_qwen().double())
    given = {"loss": ALL, "constant_length": 9, "max_grad_norm": 1e9, **changes}
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    report = way(policy, optimizer, rows, StepSettings.model_validate(given))
    return report, gradients(policy), policy


@pytest.mark.parametrize("algorithm", ["grpo", "gspo", "cispo"])
@pytest.mark.parametrize("normaliser", NORMALISERS)
def test_microbatches_change_neither_gradient_nor_metrics(
    normaliser: Normaliser, algorithm: str
) -> None:
    loss = ALL.model_copy(update={"algorithm": algorithm})
    whole, expected, _ = step_on(ROWS, normaliser=normaliser, loss=loss)
    for budget in (1, 20, 50):
        report, found, _ = step_on(ROWS, normaliser=normaliser, loss=loss, tokens_per_batch=budget)
        assert largest_gap(found, expected) < 1e-13
        assert report.loss == pytest.approx(whole.loss, abs=1e-13)
        assert report.grad_norm == pytest.approx(whole.grad_norm)
        for name, rate in whole.metrics.items():
            assert report.metrics[name] == pytest.approx(rate), name


def test_padding_changes_neither_gradient_nor_metrics() -> None:
    packed, expected, _ = step_on(ROWS)
    policy = Policy(tiny_qwen().double())
    policy.packs = False
    padded, found, _ = step_on(ROWS, policy, tokens_per_batch=40)
    assert largest_gap(found, expected) < 1e-13
    assert padded.metrics["entropy"] == pytest.approx(packed.metrics["entropy"])


def test_the_order_of_rows_changes_nothing() -> None:
    _, expected, _ = step_on(ROWS)
    _, found, _ = step_on(ROWS[::-1])
    assert largest_gap(found, expected) < 1e-13


def test_the_gradient_is_that_of_finite_differences_through_the_model() -> None:
    # Without clipping, which has kinks.
    smooth = LossSettings(clip_low=1.0, clip_high=1e6, mismatch="truncate")
    policy = Policy(with_exact_norms(tiny_qwen().double()))
    _, found, _ = step_on(ROWS, policy, tokens_per_batch=30, loss=smooth)
    torch.manual_seed(2)
    for name in ("model.lm_head.weight", "model.model.layers.0.self_attn.q_proj.weight"):
        weight = dict(policy.named_parameters())[name]
        direction = torch.randn_like(weight)
        losses = []
        for size in (1e-6, -2e-6):
            with torch.no_grad():
                weight.add_(size * direction)
            losses.append(step_on(ROWS, policy, loss=smooth)[0].loss)
        with torch.no_grad():
            weight.add_(1e-6 * direction)
        slope = (losses[0] - losses[1]) / 2e-6
        assert slope == pytest.approx(float((found[name] * direction).sum()), rel=1e-7)


def with_exact_norms(model: torch.nn.Module) -> torch.nn.Module:
    """The norms of transformers compute in float32 whatever the weights, too coarse for slopes."""
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            module.forward = functools.partial(exact_norm, module)
    return model


def exact_norm(module: torch.nn.Module, values: torch.Tensor) -> torch.Tensor:
    square = values.square().mean(-1, keepdim=True)
    return module.weight * values * torch.rsqrt(square + module.variance_epsilon)


def test_without_old_logprobs_the_ratio_is_one_and_the_gradient_that_of_reinforce() -> None:
    rows = [dataclasses.replace(row, old_logprobs=()) for row in ROWS]
    report, found, _ = step_on(rows, loss=LossSettings(), normaliser="batch")
    policy = Policy(tiny_qwen().double())
    batch = pack([row.sample for row in rows])
    advantages = torch.tensor([row.advantage for row in rows], dtype=torch.float64)[batch.row_N]
    logprobs = policy(batch).logprobs_N
    (-(logprobs * advantages)[batch.mask_N].mean()).backward()
    assert largest_gap(found, gradients(policy)) < 1e-13
    assert report.metrics["ratio"].value == pytest.approx(1)
    assert report.metrics["clip/high"].value == report.metrics["clip/low"].value == 0


def test_old_logprobs_are_those_of_the_policy_as_it_is() -> None:
    policy = Policy(tiny_qwen().double())
    rows = with_old_logprobs(policy, ROWS, Pass(tokens_per_batch=25))
    expected = policy(pack([row.sample for row in ROWS])).logprobs_N
    found = torch.tensor([value for row in rows for value in row.old_logprobs])
    torch.testing.assert_close(found, expected.float(), atol=1e-6, rtol=0)
    report, _, _ = step_on(list(rows), policy)
    assert report.metrics["ratio"].value == pytest.approx(1)


def test_the_temperature_is_that_of_the_samples() -> None:
    hot, cold = (step_on(ROWS, temperature=t)[0].metrics["entropy"].value for t in (9.0, 0.1))
    assert hot > 4 > cold


def test_metrics_are_means_over_the_tokens_that_count() -> None:
    report, _, policy = step_on(ROWS)
    batch = pack([row.sample for row in ROWS])
    tokens = policy(batch)
    gap = (tokens.logprobs_N - batch.sampler_logprobs_N).abs()
    assert report.metrics["entropy"].value == pytest.approx(
        tokens.entropies_N[batch.mask_N].mean().item()
    )
    old = torch.tensor([value for row in ROWS for value in row.old_logprobs], dtype=torch.float64)
    gap = (old - batch.sampler_logprobs_N)[batch.mask_N]
    assert report.metrics["mismatch_kl"].value == pytest.approx(
        (gap.exp() - gap - 1).mean().item(), rel=1e-5
    )
    assert report.metrics["completion_tokens"].value == pytest.approx(len(batch.targets_N) / 9)
    assert report.metrics["counted_tokens"].value == pytest.approx(int(batch.mask_N.sum()) / 9)


def test_a_long_gradient_is_cut_to_the_norm_and_reported_as_it_was() -> None:
    whole, _, _ = step_on(ROWS)
    cut, found, _ = step_on(ROWS, max_grad_norm=0.01)
    assert cut.grad_norm == pytest.approx(whole.grad_norm)
    assert math.sqrt(sum(float(g.square().sum()) for g in found.values())) == pytest.approx(
        0.01, rel=1e-4
    )


def adam_step(rows: list[TrainingRow], settings: StepSettings) -> tuple[StepReport, bool]:
    """A step of a policy that has moments and decay already; were any weights changed?"""
    policy = Policy(tiny_qwen().double())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=0.1, weight_decay=0.1)
    grpo_step(policy, optimizer, ROWS, settings)
    before = [parameter.clone() for parameter in policy.parameters()]
    report = grpo_step(policy, optimizer, rows, settings)
    after = list(policy.parameters())
    return report, any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def test_rows_without_advantage_have_exactly_no_gradient() -> None:
    rows = [dataclasses.replace(row, advantage=0.0) for row in ROWS]
    _, found, _ = step_on(rows)
    assert all(bool((gradient == 0).all()) for gradient in found.values())


def masked(row: TrainingRow) -> TrainingRow:
    sample = row.sample
    none = (False,) * len(sample.completion_ids)
    return dataclasses.replace(row, sample=dataclasses.replace(sample, completion_mask=none))


@pytest.mark.parametrize("rows", [[], [masked(row) for row in ROWS]])
def test_a_step_with_nothing_to_learn_from_leaves_everything_as_it_is(rows) -> None:
    report, changed = adam_step(rows, StepSettings())
    assert not report.stepped
    assert not changed


def test_a_masked_row_has_no_part_in_the_gradient() -> None:
    _, expected, _ = step_on(ROWS[:6])
    _, found, _ = step_on([*ROWS[:6], *map(masked, ROWS[6:])])
    assert largest_gap(found, expected) < 1e-14


def test_numbers_that_are_not_finite_stop_before_anything_is_changed() -> None:
    bad = dataclasses.replace(ROWS[0], advantage=float("inf"))
    policy = Policy(tiny_qwen().double())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=0.1)
    before = [parameter.clone() for parameter in policy.parameters()]
    with pytest.raises(TrainingStopped, match=r"gradient norm nan; 0 of \d+ .* advantage is inf"):
        grpo_step(policy, optimizer, [bad, *ROWS[1:]], StepSettings())
    assert all(torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))
    assert not optimizer.state
    with torch.no_grad():
        policy.base.lm_head.weight[3] = float("nan")
    with pytest.raises(TrainingStopped, match=r"loss nan.*; [1-9]\d* of \d+ log-prob"):
        grpo_step(policy, optimizer, ROWS, StepSettings())


def test_the_distance_to_the_reference_pulls_an_adapter_back() -> None:
    settings = ModelSettings(
        model="none", lora=LoraSettings(rank=2), autocast="none", gradient_checkpointing=False
    )
    policy = prepare(tiny_qwen().double(), settings)
    torch.manual_seed(0)
    for name, parameter in policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    trained = [parameter for parameter in policy.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.02)
    rows = [dataclasses.replace(row, advantage=0.0, old_logprobs=()) for row in ROWS]
    step = StepSettings(loss=LossSettings(kl_coefficient=1.0))
    distances = [grpo_step(policy, optimizer, rows, step).metrics["k3"].value for _ in range(15)]
    assert distances[-1] < 0.3 * distances[0]


def test_a_rewarded_token_becomes_likely() -> None:
    policy = Policy(tiny_qwen())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2)
    rows = [
        TrainingRow(Sample((1, 2), (token,)), 0, 1.0 if token == 7 else -0.2) for token in (7, 8, 9)
    ]
    for _ in range(20):
        grpo_step(policy, optimizer, rows, StepSettings())
    assert policy(pack([rows[0].sample])).logprobs_N.exp().item() > 0.8


def test_supervised_fine_tuning_is_the_mean_negative_log_likelihood() -> None:
    report, found, _ = step_on(ROWS, way=sft_step, normaliser="batch", tokens_per_batch=30)
    policy = Policy(tiny_qwen().double())
    batch = pack([row.sample for row in ROWS])
    loss = -policy(batch).logprobs_N[batch.mask_N].mean()
    loss.backward()
    assert report.loss == pytest.approx(loss.item())
    assert report.metrics["nll"].value == pytest.approx(loss.item())
    assert largest_gap(found, gradients(policy)) < 1e-13


def test_supervised_fine_tuning_learns_its_rollouts() -> None:
    policy = Policy(tiny_qwen())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2)
    settings = StepSettings(normaliser="batch")
    losses = [sft_step(policy, optimizer, ROWS, settings).loss for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
