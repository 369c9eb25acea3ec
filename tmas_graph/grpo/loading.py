"""Loads a policy: weights in float32, an adapter where asked for, checkpointing of activations."""

from typing import Any, Literal

import torch
from pydantic import Field
from torch import nn

from tmas_graph.errors import MissingExtra, StorageError
from tmas_graph.grpo.knobs import Knobs
from tmas_graph.grpo.policy import Policy

Dtype = Literal["float32", "bfloat16"]


class LoraSettings(Knobs):
    """The adapter that is trained in place of the weights."""

    rank: int = Field(16, ge=1)
    """Rank of its factors; the server's --max-lora-rank must be as high."""
    alpha: float = Field(32.0, gt=0)
    """The adapter's output is multiplied by alpha / rank."""
    targets: tuple[str, ...] | Literal["all-linear"] = "all-linear"
    """Modules that get one, by the end of their name; all-linear: all but the output head."""


class ModelSettings(Knobs):
    """Which model is trained, and how it is held."""

    model: str = Field(min_length=1)
    """Folder or name of a causal model of transformers."""
    lora: LoraSettings | None = LoraSettings()
    """Train an adapter; none: train the full weights."""
    autocast: Literal["bfloat16", "none"] = "bfloat16"
    """Dtype of the products; what is trained is float32 in any case."""
    frozen_dtype: Dtype = "float32"
    """Dtype of weights below an adapter."""
    gradient_checkpointing: bool = True
    """Compute activations of each layer again in backward, rather than keep them."""
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    """How attention is computed; packed batches on a GPU are fastest with flash_attention_2."""
    device: str = "cpu"
    """Where the model is put: cpu, cuda, cuda:1."""


def load(settings: ModelSettings) -> Policy:
    """Load the policy; what is trained of it is float32, and nothing else needs a gradient.

    Raises:
        StorageError: there is no model that can be read.
        SettingsError: its output head is of a kind that isn't supported.
        MissingExtra: transformers or peft isn't installed.
    """
    transformers = _import("transformers")
    frozen = settings.frozen_dtype if settings.lora else "float32"
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            settings.model, dtype=getattr(torch, frozen), attn_implementation=settings.attention
        )
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise StorageError(
            f"{settings.model}: can't be loaded as a causal model ({reason:.200}). Give a folder "
            "with config.json and weights, or a name on the Hugging Face hub."
        ) from error
    return prepare(model, settings)


def prepare(model: Any, settings: ModelSettings) -> Policy:
    """Make a policy of a model in memory, as `settings` say."""
    model = model.to(settings.device)
    if settings.lora:
        model = _with_adapter(model, settings.lora)
    if settings.gradient_checkpointing:
        # transformers has renamed it. The re-entrant kind loses gradients below an adapter.
        newer = getattr(model, "activation_checkpointing_enable", None)
        (newer or model.gradient_checkpointing_enable)({"use_reentrant": False})
    model.train()  # what checkpoints its layers only does so in this mode
    return Policy(model, autocast=None if settings.autocast == "none" else torch.bfloat16)


def _with_adapter(model: Any, settings: LoraSettings) -> Any:
    peft = _import("peft")
    targets = settings.targets
    config = peft.LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,
        target_modules=targets if isinstance(targets, str) else list(targets),
        task_type="CAUSAL_LM",
    )
    return peft.get_peft_model(model, config)


def is_tied(model: Any) -> bool:
    """Are embeddings and output head one tensor? The config alone doesn't say so for sure."""
    into, out = model.get_input_embeddings(), model.get_output_embeddings()
    return out is not None and into.weight is out.weight


def untie(model: Any) -> None:
    """Give the output head weights of its own, equal for now.

    A server that reloads tied weights from disk may keep the old output head.
    """
    if is_tied(model):
        head = model.get_output_embeddings()
        head.weight = nn.Parameter(head.weight.detach().clone(), head.weight.requires_grad)
    model.config.tie_word_embeddings = False


def _import(name: Literal["transformers", "peft"]) -> Any:
    try:
        if name == "peft":
            import peft  # noqa: PLC0415  (an extra, and it takes seconds)

            return peft
        import transformers  # noqa: PLC0415

        return transformers
    except ImportError as error:
        raise MissingExtra(
            f"{name} isn't installed, and the policy needs it. "
            'Run: pip install "tmas-graph[train]"'
        ) from error
