"""The optimiser of a run, and its learning rate as a function of the step alone."""

from collections.abc import Iterable
from math import cos, pi

import torch
from torch import nn

from tmas_graph.grpo.operation import OptimizerSettings


def optimizer_of(
    parameters: Iterable[nn.Parameter], settings: OptimizerSettings
) -> torch.optim.AdamW:
    """Give AdamW over what is trained."""
    return torch.optim.AdamW(
        [parameter for parameter in parameters if parameter.requires_grad],
        lr=settings.learning_rate,
        betas=(settings.beta1, settings.beta2),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
    )


def learning_rate(step: int, steps: int, settings: OptimizerSettings) -> float:
    """Give the rate of step 0, 1, … of `steps`; no state of a schedule has to be saved."""
    if step < settings.warmup_steps:
        return settings.learning_rate * (step + 1) / settings.warmup_steps
    if settings.schedule == "constant":
        return settings.learning_rate
    done = (step - settings.warmup_steps) / max(1, steps - 1 - settings.warmup_steps)
    done = min(done, 1.0)
    share = 1.0 - done if settings.schedule == "linear" else (1.0 + cos(pi * done)) / 2.0
    return settings.learning_rate * (settings.least + (1.0 - settings.least) * share)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Let the next step of `optimizer` use `rate`."""
    for group in optimizer.param_groups:
        group["lr"] = rate
