"""What a trained policy is made of, written where the server reads it.

A tensor that is spread over ranks is gathered by all of them.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tmas_graph.errors import MissingExtra, StorageError

if TYPE_CHECKING:
    from torch import Tensor

Named = Iterator[tuple[str, "Tensor"]]
INDEX = "model.safetensors.index.json"
"""Says in which file each tensor is; with it, transformers takes files of any name."""
_SHARD_BYTES = 4 * 2**30


def full_weights(model: Any) -> Named:
    """All weights of a model of transformers, whole, one by one, by their names in a checkpoint."""
    for name, weight in model.named_parameters():
        yield name, whole(weight.detach())


def adapter_weights(model: Any) -> Named:
    """The weights of the adapter of a peft model, whole, by their names in a saved adapter."""
    for name, weight in (
        _peft().get_peft_model_state_dict(model, save_embedding_layers=False).items()
    ):
        yield name, whole(weight.detach())


def whole(tensor: Any) -> "Tensor":
    """Gather a tensor that is spread over ranks; each of them must take part."""
    gather = getattr(tensor, "full_tensor", None)
    gathered: Tensor = gather() if gather else tensor
    return gathered


def take_part(weights: Named) -> None:
    """Gather with the others, and keep nothing."""
    for _ in weights:
        pass


def written(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Let `fill` fill a folder that is there as a whole or not at all.

    Raises:
        StorageError: it can't be written.
    """
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        fill(partial)
        partial.rename(folder)
    except OSError as error:
        raise StorageError(
            f"{folder}: can't be written ({error.strerror or error}). See to its disk; the server "
            "still has the weights that it had."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def write_adapter(model: Any, folder: Path) -> None:
    """Write the adapter of a peft model as peft does."""
    _save(dict(adapter_weights(model)), folder / "adapter_model.safetensors")
    model.peft_config[model.active_adapter].save_pretrained(folder)


def write_full(model: Any, folder: Path, shard_bytes: int = _SHARD_BYTES) -> None:
    """Write all weights, in files of about `shard_bytes`, their index and the model's config."""
    shard: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    size = total = files = 0
    for name, weight in full_weights(model):
        file = f"weights-{files:05}.safetensors"
        shard[name], places[name] = weight, file
        size += weight.numel() * weight.element_size()
        if size >= shard_bytes:
            _save(shard, folder / file)
            shard, size, total, files = {}, 0, total + size, files + 1
    if shard:
        _save(shard, folder / f"weights-{files:05}.safetensors")
    index = {"metadata": {"total_size": total + size}, "weight_map": places}
    (folder / INDEX).write_text(json.dumps(index, indent=2), encoding="utf-8")
    model.config.save_pretrained(folder)


def _save(tensors: "dict[str, Tensor]", file: Path) -> None:
    from safetensors.torch import save_file  # noqa: PLC0415  (an extra)

    # A view would be refused where it shares memory with another tensor.
    save_file({name: t.cpu().contiguous() for name, t in tensors.items()}, file, {"format": "pt"})
    file.chmod(0o644)  # safetensors lets its owner alone read it, and the server may be another


def _peft() -> Any:
    try:
        import peft  # noqa: PLC0415  (an extra, and it takes seconds)
    except ImportError as error:
        raise MissingExtra(
            'peft isn\'t installed, and an adapter needs it. Run: pip install "tmas-graph[train]"'
        ) from error
    return peft
