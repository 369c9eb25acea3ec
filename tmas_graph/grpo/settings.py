"""Every knob of a training run, with the default that runs; a file of TOML sets the others.

What belongs to one file of the trainer is defined there (rewards, advantages, loss, step, model);
the rest is in `operation.py` and here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from tmas_graph.grpo.advantages import AdvantageSettings
from tmas_graph.grpo.knobs import Knobs
from tmas_graph.grpo.loading import ModelSettings
from tmas_graph.grpo.loss import LossSettings
from tmas_graph.grpo.novelty import NoveltySettings
from tmas_graph.grpo.operation import (
    CheckpointSettings,
    EvaluationSettings,
    LogSettings,
    OptimizerSettings,
    ServerSettings,
    StopSettings,
)
from tmas_graph.grpo.rewards import RewardSettings
from tmas_graph.grpo.step import StepSettings

Preset = Literal["hybrid", "vanilla"]


class DataSettings(Knobs):
    """What is learned from."""

    train: Path
    """Parquet of `tmas train data`; under mode sft, JSONL with `prompt` and `completion`."""
    held_out: Path | None = None
    """Parquet of problems that are only evaluated."""
    modes: tuple[Literal["normal", "experience", "guideline"], ...] = (
        "normal",
        "experience",
        "guideline",
    )
    """Which prompts are used."""
    shuffle: bool = True
    """Another order in each epoch; without it, always that of the file."""


class SamplingSettings(Knobs):
    """How completions are drawn."""

    group_size: int = Field(16, ge=2)
    """Completions of one group."""
    groups: int = Field(32, ge=1)
    """Groups of one step, over all ranks."""
    paired: bool = True
    """Draw half of a group with the bank, half without; the latter half tells p0, too."""
    temperature: float = Field(1.0, gt=0)
    """Of what is drawn; the trainer divides logits by it, too."""
    max_tokens: int = Field(8192, ge=1)
    """Longest completion."""
    ahead: Literal[0, 1] = 1
    """1: draw the next groups while the trainer learns; 0: don't, and a resume is exact."""
    template: Mapping[str, bool | int | float | str] = Field(default_factory=dict)
    """Arguments of the chat template."""

    @model_validator(mode="after")
    def _halves(self) -> Self:
        if self.paired and self.group_size % 2:
            raise ValueError(
                f"group_size is {self.group_size}, and paired groups have two halves. "
                "Make it even, or set paired = false"
            )
        return self


class RunSettings(Knobs):
    """A whole training run."""

    mode: Literal["grpo", "sft"] = "grpo"
    """Reinforcement, or its cold start: supervised fine-tuning on verified completions."""
    preset: Preset = "hybrid"
    """vanilla: correctness is all that is rewarded."""
    out: Path
    """Folder of the run."""
    steps: int = Field(200, ge=1)
    """Steps of the optimiser."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Of the order of prompts, of what is drawn, and of the adapter's first weights."""
    updates: int = Field(1, ge=1)
    """Passes of the optimiser over the groups of one step."""
    data: DataSettings
    """What is learned from."""
    model: ModelSettings
    """What is trained."""
    server: ServerSettings = ServerSettings()
    """Where completions are drawn."""
    sampling: SamplingSettings = SamplingSettings()
    """How they are drawn."""
    rewards: RewardSettings = RewardSettings()
    """What they earn."""
    novelty: NoveltySettings = NoveltySettings()
    """When a strategy is new."""
    advantages: AdvantageSettings = AdvantageSettings()
    """How rewards become advantages."""
    loss: LossSettings = LossSettings()
    """The objective."""
    step: StepSettings = StepSettings()
    """What one step does; its `loss` and `temperature` are those of `loss` and `sampling`."""
    optimizer: OptimizerSettings = OptimizerSettings()
    """How gradients become weights."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """How held-out problems are tried."""
    checkpoints: CheckpointSettings = CheckpointSettings()
    """When the run is saved."""
    stops: StopSettings = StopSettings()
    """When the run is ended early."""
    log: LogSettings = LogSettings()
    """Where numbers go besides metrics.jsonl."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        twice = {"loss": "loss", "temperature": "sampling.temperature"}
        for name in sorted(twice.keys() & self.step.model_fields_set):
            raise ValueError(f"step.{name} is given. Set {twice[name]} in its place")
        if self.loss.kl_coefficient and self.model.lora is None:
            raise ValueError(
                f"loss.kl_coefficient is {self.loss.kl_coefficient}, and full weights have no "
                "reference policy. Set it to 0, or train a LoRA"
            )
        if self.mode == "grpo" and self.server.push == "lora" and self.model.lora is None:
            raise ValueError(
                'server.push is "lora", and full weights are trained. '
                'Set it to "disk" or "nccl", or train a LoRA'
            )
        return self

    @property
    def step_settings(self) -> StepSettings:
        """The step with the run's loss and temperature."""
        temperature = self.sampling.temperature if self.mode == "grpo" else 1.0
        longest = self.step.constant_length or self.sampling.max_tokens
        changed = {"loss": self.loss, "temperature": temperature, "constant_length": longest}
        return self.step.model_copy(update=changed)
