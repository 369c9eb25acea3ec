"""The model that is trained: token log-probabilities of a batch, with and without its adapter."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from tmas_graph.errors import SettingsError
from tmas_graph.grpo.logprobs import Head, TokenLogprobs, token_logprobs
from tmas_graph.grpo.packing import Batch, pack, pad
from tmas_graph.grpo.samples import Sample

if TYPE_CHECKING:
    from torch.distributed.fsdp import MixedPrecisionPolicy

_SCALED = (
    "final_logit_softcapping",
    "logit_scale",
    "logits_scaling",
    "lm_head_multiplier",
    "output_multiplier",
)


class Policy(nn.Module):
    """A causal model of transformers, with or without a LoRA adapter of peft.

    Its forward gives log-probabilities rather than logits. It is a module around the model, so
    that under FSDP2 the output head is gathered once for all tiles that meet it.
    """

    def __init__(
        self, model: nn.Module, *, autocast: torch.dtype | None = None, tile: int | None = None
    ) -> None:
        """Wrap `model`; forward runs in `autocast`, and with tiles of `tile` tokens.

        Raises:
            SettingsError: its logits aren't plain products with its output head.
        """
        super().__init__()
        self.model = model
        self.autocast = autocast
        self.tile = tile
        self.is_sharded = False
        _refuse_unusual_head(self.base)
        _without_dropout(model)
        # Flash attention reads where sequences begin from a batch of one row alone.
        attention = str(getattr(self.base.config, "_attn_implementation", ""))
        self.in_one_row = "flash" in attention
        self.packs = self.keeps_apart()

    @property
    def base(self) -> Any:
        """The causal model below the adapter."""
        model = cast(Any, self.model)
        return model.get_base_model() if self.has_adapter else model

    @property
    def has_adapter(self) -> bool:
        """Is what is trained an adapter?"""
        return hasattr(self.model, "disable_adapter") and hasattr(self.model, "get_base_model")

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.parameters()).device

    def forward(self, batch: Batch, temperature: float = 1.0) -> TokenLogprobs:
        """Give log-probability and entropy of each completion token of `batch`."""
        hidden_NH = self._hidden(batch)[batch.source_N]
        return token_logprobs(
            hidden_NH,
            batch.targets_N,
            _head_of(self.base.get_output_embeddings()),
            temperature=temperature,
            dtype=self.autocast,
            tile=self.tile,
        )

    @contextmanager
    def reference(self) -> Iterator[None]:
        """Make it, for a while, the policy it was before training: the adapter is off.

        Raises:
            SettingsError: the full weights are trained, and the ones before are gone.
        """
        if not self.has_adapter:
            raise SettingsError(
                "reference policy: there is no adapter to switch off (full weights are trained). "
                "Train a LoRA, or set kl_coefficient to 0."
            )
        with torch.no_grad(), cast(Any, self.model).disable_adapter():
            yield

    def batched(self, samples: Sequence[Sample]) -> Batch:
        """Put samples into one batch, in the form that suits the model."""
        if not self.packs:
            batch = pad(samples)
        else:
            longest = max(sample.length for sample in samples)
            batch = pack(samples, None if self.in_one_row else longest)
        return batch.to(self.device)

    def keeps_apart(self) -> bool:
        """Do packed sequences not see one another? Found out with three short ones."""
        found = list[Tensor]()
        for first in (0, 1):
            probes = [Sample((first, first, 1), ()), Sample((1, 0, 1), ()), Sample((1,) * 6, ())]
            batch = pack(probes, None if self.in_one_row else 6).to(self.device)
            with torch.no_grad():
                # The first probe stands before the second, in a row of its own or of all.
                found.append(self._hidden(batch)[batch.starts_R[1] :][:3])
        return torch.equal(*found)

    def shard(self, precision: "MixedPrecisionPolicy") -> None:
        """Spread weights, gradients and moments over all ranks (FSDP2), layer by layer."""
        from torch.distributed.fsdp import fully_shard  # noqa: PLC0415  (slow to import)

        for layer in _backbone(self.base).layers:
            fully_shard(layer, mp_policy=precision)
        fully_shard(self, mp_policy=precision)
        self.autocast = None if precision.param_dtype is None else precision.param_dtype
        self.is_sharded = True

    def _hidden(self, batch: Batch) -> Tensor:
        """Hidden states [B · T, H] after the last norm."""
        device = batch.input_ids_BT.device.type
        lower = torch.autocast(device, self.autocast) if self.autocast else nullcontext()
        with lower:
            output = _backbone(self.base)(
                input_ids=batch.input_ids_BT,
                position_ids=batch.position_ids_BT,
                attention_mask=batch.attention_mask_BT,
                use_cache=False,  # with a cache, packed sequences would see one another
            )
        return cast(Tensor, output.last_hidden_state).flatten(0, 1)


def _backbone(base: Any) -> Any:
    """The decoder below the output head."""
    return getattr(base, base.base_model_prefix)


def _head_of(head: Any) -> Head:
    """The output head as tensors; a LoRA of it stays in two factors."""
    if not hasattr(head, "base_layer"):
        return Head(head.weight)
    if head.disable_adapters or not head.active_adapters:
        return Head(head.base_layer.weight)
    name = head.active_adapters[0]
    down, up = head.lora_A[name], head.lora_B[name]
    return Head(head.base_layer.weight, down.weight, up.weight, head.scaling[name])


def _refuse_unusual_head(base: Any) -> None:
    head = base.get_output_embeddings()
    scaled = [name for name in _SCALED if getattr(base.config, name, None) not in (None, 1, 1.0)]
    if scaled:
        raise SettingsError(
            f"model: its logits are changed by {scaled[0]} ({getattr(base.config, scaled[0])}), "
            "which the tiled output head doesn't do. Choose a model without it."
        )
    if hasattr(head, "modules_to_save"):
        raise SettingsError(
            "adapter: the output head is in modules_to_save. Put it into target_modules."
        )
    if getattr(getattr(head, "base_layer", head), "bias", None) is not None:
        raise SettingsError("model: its output head has a bias. Choose a model without one.")


def _without_dropout(model: nn.Module) -> None:
    """Switch all dropout off: under it the policy would be another one in each forward."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "attention_dropout", None), float):
            module.attention_dropout = 0.0  # type: ignore[assignment]
