"""The loss of TRL's GRPO trainer and ours on the same numbers, for the modes that both have."""

from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from trl import GRPOTrainer

from tmas_graph.grpo.loss import LossInputs, LossSettings, policy_loss
from tmas_graph.grpo.weighing import Normaliser, weights

F64 = torch.float64
B, T = 5, 7
LONGEST = 9
"""Tokens that a completion might have had."""
CAP = 1.1


class Case:
    """Random numbers of a padded batch; the last row has one token, others from two to all."""

    def __init__(self, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)

        def near(values: Tensor, by: float) -> Tensor:
            return values + by * torch.randn(B, T, generator=random, dtype=F64)

        self.logprobs = near(torch.full((B, T), -2.0, dtype=F64), 1.0).requires_grad_()
        self.old = near(self.logprobs.detach(), 0.4)
        self.sampled = near(self.old, 0.2)
        self.reference = near(self.logprobs.detach(), 0.3)
        self.advantages = torch.randn(B, generator=random, dtype=F64)
        lengths = torch.tensor([7, 2, 5, 3, 1])
        self.mask = (torch.arange(T) < lengths[:, None]).long()

    def theirs(self, **changes: object) -> Tensor:
        """TRL's own function, with a trainer that has nothing but what it reads."""
        given = {
            "loss_type": "grpo",
            "beta": 0.0,
            "importance_sampling_level": "token",
            "epsilon_low": 0.2,
            "epsilon_high": 0.28,
            "use_vllm": False,
            "delta": None,
            **changes,
        }
        trainer = SimpleNamespace(
            **given,
            args=SimpleNamespace(
                delta=given["delta"], use_bias_correction_kl=False, steps_per_generation=1
            ),
            model=SimpleNamespace(training=True),
            accelerator=SimpleNamespace(
                num_processes=1, reduce=lambda value, reduction: value, gather=lambda value: value
            ),
            _get_per_token_logps_and_entropies=lambda *_args, **_more: (
                self.logprobs,
                torch.zeros(B, T),
                None,
            ),
            _metrics={"train": defaultdict(list)},
            current_gradient_accumulation_steps=1,
            max_completion_length=LONGEST,
            top_entropy_quantile=1.0,
            off_policy_mask_threshold=None,
            vllm_importance_sampling_correction=True,
            aux_loss_enabled=False,
            _entropy_bonus_enabled=False,
        )
        inputs = {
            "prompt_ids": torch.zeros(B, 1),
            "prompt_mask": torch.ones(B, 1),
            "completion_ids": torch.zeros(B, T),
            "completion_mask": self.mask,
            "advantages": self.advantages,
            "old_per_token_logps": self.old,
            "ref_per_token_logps": self.reference,
            "importance_sampling_ratio": (self.old - self.sampled).exp().clamp(max=CAP),
            "num_items_in_batch": self.mask.sum(),
        }
        return GRPOTrainer._compute_loss(trainer, trainer.model, inputs)

    def ours(self, settings: LossSettings, normaliser: Normaliser) -> Tensor:
        """Our loss of the tokens that count, without the padding."""
        mask = self.mask.bool()
        row_N = torch.arange(B)[:, None].expand(B, T)[mask]
        counted = self.mask.sum(-1).tolist()
        given = LossInputs(
            self.logprobs[mask],
            self.old[mask],
            self.advantages[row_N],
            row_N,
            weights(counted, [0] * B, normaliser, constant=LONGEST),
            sampler_logprobs_N=self.sampled[mask],
            reference_logprobs_N=self.reference[mask],
        )
        return policy_loss(given, settings).loss


NORMALISERS: list[tuple[str, Normaliser]] = [
    ("grpo", "sequence"),
    ("bnpo", "batch"),
    ("dapo", "batch"),
    ("dr_grpo", "constant"),
]
TRUNCATED = LossSettings(mismatch="truncate", mismatch_high=CAP)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("loss_type", "normaliser"), NORMALISERS)
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({}, LossSettings()),
        ({"epsilon_low": 0.1, "epsilon_high": 0.1}, LossSettings(clip_low=0.1, clip_high=0.1)),
        ({"delta": 1.4}, LossSettings(dual_clip=1.4)),
        ({"beta": 0.2}, LossSettings(kl_coefficient=0.2)),
        ({"use_vllm": True}, TRUNCATED),
        (
            {"use_vllm": True, "beta": 0.2, "delta": 1.4},
            TRUNCATED.model_copy(update={"kl_coefficient": 0.2, "dual_clip": 1.4}),
        ),
    ],
    ids=["plain", "symmetric", "dual", "reference", "mismatch", "all"],
)
def test_the_clipped_surrogate_is_theirs(
    theirs: dict, ours: LossSettings, loss_type: str, normaliser: Normaliser, seed: int
) -> None:
    agree(Case(seed), {**theirs, "loss_type": loss_type}, ours, normaliser)


@pytest.mark.parametrize("seed", range(3))
def test_sequence_ratios_are_theirs(seed: int) -> None:
    ours = LossSettings(algorithm="gspo", kl_coefficient=0.2)
    theirs = {"importance_sampling_level": "sequence", "beta": 0.2}
    agree(Case(seed), theirs, ours, "sequence")


@pytest.mark.parametrize("seed", range(3))
def test_cispo_is_theirs(seed: int) -> None:
    theirs = {"loss_type": "cispo", "epsilon_high": 1.28}
    agree(Case(seed), theirs, LossSettings(algorithm="cispo"), "batch")


def agree(case: Case, theirs: dict, ours: LossSettings, normaliser: Normaliser) -> None:
    """Loss and gradient are the same."""
    losses = case.theirs(**theirs), case.ours(ours, normaliser)
    torch.testing.assert_close(*losses, atol=1e-14, rtol=1e-12)
    slopes = (torch.autograd.grad(loss, case.logprobs)[0] for loss in losses)
    torch.testing.assert_close(*slopes, atol=1e-14, rtol=1e-12)
