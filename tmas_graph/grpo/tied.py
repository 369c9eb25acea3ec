"""Models whose input embeddings and output head are one tensor, and how to serve them.

vLLM 0.32 that reloads such a model's weights keeps the old output head, and says that all went
well: its log-probabilities are off by tenths from then on. A copy whose head is a tensor of its
own computes the same and can be reloaded.
"""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tmas_graph.errors import MissingExtra, SettingsError, StorageError

HEAD = "lm_head.weight"
_EMBEDDINGS = "embed_tokens.weight"
_ONE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_HEAD_FILE = "model-lm-head.safetensors"


def command(source: Path | str) -> str:
    """Give the command that makes an untied copy of `source`."""
    return f"python -m tmas_graph.grpo untie {source} {source}-untied"


def is_tied(model: Any) -> bool:
    """Are embeddings and output head of a model in memory one tensor, or saved as one?"""
    if getattr(model.config, "tie_word_embeddings", False):
        return True
    into, out = model.get_input_embeddings(), model.get_output_embeddings()
    return out is not None and into.weight is out.weight


def is_tied_folder(folder: Path) -> bool:
    """Are they in a folder of safetensors?

    Raises:
        StorageError: the folder can't be read.
    """
    config = _json(folder / "config.json")
    told = config.get("tie_word_embeddings")
    if told is None:  # as where the default of the model's kind holds
        return HEAD not in _places(folder)
    return bool(told)


def refuse_tied(model: Any, way: str) -> None:
    """Refuse to push full weights of a tied model.

    Raises:
        SettingsError: it is tied.
    """
    if is_tied(model):
        source = getattr(model.config, "_name_or_path", "") or "MODEL"
        raise SettingsError(
            f"{source}: its output head is tied to its embeddings (tie_word_embeddings), and a "
            f"push by {way} would leave the server with the old head. "
            f"Run `{command(source)}`, then train and serve the copy."
        )


def untied_copy(source: Path, target: Path) -> None:
    """Write a copy of the model in `source` whose output head is a tensor of its own.

    `target` is there as a whole or not at all.

    Raises:
        StorageError: `source` holds no tied model in safetensors, or `target` exists.
        MissingExtra: safetensors or torch isn't installed.
    """
    if target.exists():
        raise StorageError(f"{target}: exists already. Give another folder, or remove it.")
    places = _places(source)
    if not is_tied_folder(source):
        raise StorageError(f"{source}: its output head isn't tied. Serve and train it as it is.")
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        shutil.copytree(source, partial, ignore=shutil.ignore_patterns(_INDEX, ".*"))
        _add_head(partial, places)
        _tell_untied(partial)
        partial.rename(target)
    except OSError as error:
        raise StorageError(
            f"{target}: can't be written ({error.strerror or error}). See to its disk."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _add_head(folder: Path, places: Mapping[str, str]) -> None:
    """Write the head into a file of its own, and an index of all files."""
    try:
        from safetensors import (  # noqa: PLC0415  (extras, and slow to import)
            SafetensorError,
            safe_open,
        )
        from safetensors.torch import save_file  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            "safetensors or torch isn't installed, and weights need both. "
            'Run: pip install "tmas-graph[train]"'
        ) from error
    places = dict(places)
    names = [name for name in places if name.endswith(_EMBEDDINGS)]
    if len(names) != 1:
        raise StorageError(
            f"{folder}: {len(names)} tensors are named …{_EMBEDDINGS}, and one is needed. "
            "Untie the model by other means."
        )
    if HEAD not in places:
        try:
            with safe_open(folder / places[names[0]], "pt") as weights:
                head = {HEAD: weights.get_tensor(names[0])}
        except SafetensorError as error:
            raise StorageError(
                f"{places[names[0]]}: can't be read ({error}). Fetch the model anew."
            ) from error
        save_file(head, folder / _HEAD_FILE, {"format": "pt"})
        (folder / _HEAD_FILE).chmod(0o644)  # safetensors lets its owner alone read it
        places[HEAD] = _HEAD_FILE
    if (folder / _ONE).is_file():
        # A loader that finds this name looks at no other file.
        (folder / _ONE).rename(folder / "model-body.safetensors")
        places = {n: "model-body.safetensors" if f == _ONE else f for n, f in places.items()}
    size = sum((folder / name).stat().st_size for name in set(places.values()))
    index = {"metadata": {"total_size": size}, "weight_map": places}
    (folder / _INDEX).write_text(json.dumps(index, indent=2), encoding="utf-8")


def _tell_untied(folder: Path) -> None:
    config = _json(folder / "config.json")
    config["tie_word_embeddings"] = False
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text, encoding="utf-8")


def _places(folder: Path) -> dict[str, str]:
    """The file of each tensor."""
    if (folder / _INDEX).is_file():
        return dict(_json(folder / _INDEX).get("weight_map") or {})
    if not (folder / _ONE).is_file():
        raise StorageError(
            f"{folder}: no {_ONE} and no {_INDEX} is there. Give the folder of a model saved as "
            "safetensors; one of the hub's is a folder after `hf download NAME --local-dir FOLDER`."
        )
    with (folder / _ONE).open("rb") as weights:
        length = int.from_bytes(weights.read(8), "little")
        header = _object(weights.read(length), folder / _ONE)
    return {name: _ONE for name in header if name != "__metadata__"}


def _json(file: Path) -> dict[str, Any]:
    try:
        return _object(file.read_bytes(), file)
    except OSError as error:
        raise StorageError(
            f"{file}: can't be read ({error.strerror}). Give the folder of a model."
        ) from error


def _object(text: bytes, file: Path) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise StorageError(f"{file}: it isn't what its name says. Fetch the model anew.")
    return told
