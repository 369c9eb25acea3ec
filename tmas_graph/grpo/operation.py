"""The knobs of a run's operation: optimiser, server, evaluation, checkpoints, stops, logs."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from tmas_graph.grpo.knobs import Knobs

TrackerName = Literal["tensorboard", "wandb", "trackio"]


class OptimizerSettings(Knobs):
    """AdamW, and how its learning rate changes."""

    learning_rate: float = Field(1e-6, gt=0)
    """The highest; an adapter takes about ten times that of full weights."""
    warmup_steps: int = Field(0, ge=0)
    """Steps over which it rises from near 0."""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How it falls after that, until the last step."""
    least: float = Field(0.0, ge=0, le=1)
    """What is left of it at the last step, as a share."""
    beta1: float = Field(0.9, ge=0, lt=1)
    """Decay of the first moment."""
    beta2: float = Field(0.95, ge=0, lt=1)
    """Decay of the second moment."""
    epsilon: float = Field(1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.0, ge=0)
    """Shrinks weights by learning_rate · weight_decay in each step."""


class ServerSettings(Knobs):
    """The vLLM that draws completions, started as `tmas train serve` says."""

    url: str = Field("http://127.0.0.1:8000", min_length=1)
    """Its root."""
    push: Literal["lora", "disk", "nccl"] = "lora"
    """How it gets the policy's weights: an adapter, a folder, GPU to GPU."""
    concurrency: int = Field(64, ge=1)
    """Groups in flight."""
    timeout_seconds: float = Field(1800.0, gt=0)
    """For one request, and for one push."""
    parity_bound: float = Field(0.05, gt=0)
    """Largest difference of a log-probability between server and trainer after a push; 0.001 is
    met where both compute in float32."""


class EvaluationSettings(Knobs):
    """How held-out problems are tried, before the first step and then every so often."""

    every: int = Field(20, ge=0)
    """Steps between evaluations; 0: never."""
    rows: int | None = Field(None, ge=1)
    """Most prompts of each mode; none: all."""
    samples: int = Field(4, ge=1)
    """Completions of each prompt."""
    tmas_every: int = Field(0, ge=0)
    """Steps between evaluations of TMAS with the policy; 0: never."""
    tmas_problems: int = Field(16, ge=1)
    """Most held-out problems that TMAS is tried on."""
    tmas_settings: Mapping[str, bool | int | float | str] = Field(default_factory=dict)
    """Settings of TMAS there: candidates, iterations, …"""


class CheckpointSettings(Knobs):
    """When the run is saved."""

    every: int = Field(10, ge=1)
    """Steps between checkpoints; the last step has one in any case."""
    keep: int = Field(2, ge=1)
    """How many are kept, the newest ones."""


class StopSettings(Knobs):
    """When a run is ended early."""

    collapse_share: float = Field(0.25, ge=0, lt=1)
    """Stop where the share of right completions stays under this share of its best; 0: never."""
    collapse_steps: int = Field(20, ge=1)
    """For so many steps in a row; the best is that of a mean over as many."""


class LogSettings(Knobs):
    """Where numbers go besides metrics.jsonl."""

    to: tuple[TrackerName, ...] = ()
    """Each is an extra: pip install "tmas-graph[wandb]"."""
    project: str = "tmas"
    """Name of the project there."""
    samples: bool = True
    """Keep all completions of each step in samples/."""
