"""Saves a run so that it goes on exactly where it was, and never leaves half a checkpoint.

A checkpoint is a folder `step-000012` that gets its name once all of it is on the disk; `latest`
then names it. What holds: the weights that are trained, the moments, the state of the random
numbers, and the place in the data as *consumed* groups: what was drawn ahead is drawn again.
The learning rate is a function of the step and needs no state.
"""

import json
import os
import random
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from tmas_graph.errors import StorageError
from tmas_graph.grpo.policy import Policy

LATEST = "latest"
_TENSORS, _STATE = "training.pt", "state.json"


@dataclass(slots=True)
class TrainState:
    """Where a run stands."""

    step: int = 0
    """Steps done."""
    version: int = 0
    """Of the policy: one more after each step that changed it."""
    consumed: int = 0
    """Groups (in supervised fine-tuning: completions) that were learned from or dropped."""
    evaluated: int = -1
    """The last step before which held-out problems were tried, if they were due."""
    correct: tuple[float, ...] = ()
    """Share of right completions in each step."""


@dataclass(frozen=True, slots=True)
class Saved:
    """All of a checkpoint, on the CPU."""

    state: TrainState
    tensors: Mapping[str, Any]


def gather(policy: Policy, optimizer: torch.optim.Optimizer, state: TrainState) -> Saved:
    """Collect what is to be saved; every rank must call it where weights are sharded."""
    weights, moments = _sharded(policy, optimizer) if policy.is_sharded else _own(policy, optimizer)
    tensors = {"weights": weights, "optimizer": moments, "random": _random()}
    return Saved(TrainState(**asdict(state)), tensors)


def write(folder: Path, saved: Saved, keep: int) -> Path:
    """Write a checkpoint below `folder`, point `latest` at it, and remove the oldest ones.

    Raises:
        StorageError: it can't be written; the one before is as it was.
    """
    place = folder / f"step-{saved.state.step:06}"
    partial = folder / f".{place.name}.partial"
    try:
        if place.name != _pointed_at(folder):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            torch.save(dict(saved.tensors), partial / _TENSORS)
            (partial / _STATE).write_text(json.dumps(asdict(saved.state)), encoding="utf-8")
            for file in (partial / _TENSORS, partial / _STATE, partial):
                _sync(file)
            shutil.rmtree(place, ignore_errors=True)  # of a run that went on from an earlier one
            partial.rename(place)
            _sync(folder)
            _point(folder, place.name)
        _remove_others(folder, place, keep)
    except (OSError, RuntimeError) as error:  # torch has its own for a full disk
        raise StorageError(
            f"{place}: can't be written ({getattr(error, 'strerror', None) or error}). "
            "Free some room; the checkpoint before is as it was."
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place


def latest(folder: Path) -> Path | None:
    """Give the newest complete checkpoint below `folder`, if there is one."""
    name = _pointed_at(folder)
    return folder / name if name and (folder / name).is_dir() else None


def read(place: Path) -> Saved:
    """Give the checkpoint in `place`.

    Raises:
        StorageError: it can't be read.
    """
    try:
        told = json.loads((place / _STATE).read_text(encoding="utf-8"))
        tensors = torch.load(place / _TENSORS, map_location="cpu", weights_only=True)
        return Saved(TrainState(**{**told, "correct": tuple(told["correct"])}), tensors)
    except Exception as error:  # torch's reader raises anything on a torn file
        raise StorageError(
            f"{place}: can't be read as a checkpoint ({error!s:.200}). Write the name of "
            f"another step-… into {place.parent / LATEST}, or begin anew in another folder."
        ) from error


def restore(policy: Policy, optimizer: torch.optim.Optimizer, saved: Saved) -> TrainState:
    """Put policy, optimiser and random numbers where they were; give where the run stands.

    Raises:
        StorageError: the checkpoint is of another model.
    """
    weights, moments = saved.tensors["weights"], saved.tensors["optimizer"]
    if policy.is_sharded:
        _restore_sharded(policy, optimizer, weights, moments)
    else:
        _restore_own(policy, optimizer, weights, moments)
    _restore_random(saved.tensors["random"])
    return TrainState(**asdict(saved.state))


def _own(policy: Policy, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
    weights = {
        name: parameter.detach().cpu().clone()
        for name, parameter in policy.named_parameters()
        if parameter.requires_grad
    }
    return weights, optimizer.state_dict()


def _restore_own(
    policy: Policy, optimizer: torch.optim.Optimizer, weights: Any, moments: Any
) -> None:
    trained = {name: p for name, p in policy.named_parameters() if p.requires_grad}
    if {n: p.shape for n, p in trained.items()} != {n: w.shape for n, w in weights.items()}:
        differing = sorted(trained.keys() ^ weights.keys()) or ["shapes"]
        raise StorageError(
            f"checkpoint: it is of another model or adapter ({len(weights)} tensors, here "
            f"{len(trained)}; first difference: {differing[0]}). Give the settings of that run."
        )
    with torch.no_grad():
        for name, parameter in trained.items():
            parameter.copy_(weights[name])
    optimizer.load_state_dict(moments)


def _sharded(policy: Policy, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
    from torch.distributed.checkpoint.state_dict import (  # noqa: PLC0415  (slow to import)
        StateDictOptions,
        get_state_dict,
    )

    options = StateDictOptions(full_state_dict=True, cpu_offload=True, ignore_frozen_params=True)
    return get_state_dict(policy, optimizer, options=options)


def _restore_sharded(
    policy: Policy, optimizer: torch.optim.Optimizer, weights: Any, moments: Any
) -> None:
    from torch.distributed.checkpoint.state_dict import (  # noqa: PLC0415
        StateDictOptions,
        set_state_dict,
    )

    options = StateDictOptions(full_state_dict=True, ignore_frozen_params=True, strict=False)
    set_state_dict(
        policy, optimizer, model_state_dict=weights, optim_state_dict=moments, options=options
    )


def _random() -> dict[str, Any]:
    kind, keys, place, has_gauss, gauss = cast(Any, np.random.get_state())
    return {
        "python": random.getstate(),
        "numpy": (kind, keys.tolist(), place, has_gauss, gauss),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _restore_random(saved: Mapping[str, Any]) -> None:
    version, numbers, gauss = saved["python"]
    random.setstate((version, tuple(numbers), gauss))
    kind, keys, place, has_gauss, cached = saved["numpy"]
    np.random.set_state((kind, np.array(keys, dtype=np.uint32), place, has_gauss, cached))
    torch.set_rng_state(saved["torch"])
    if saved["cuda"] and len(saved["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(saved["cuda"])


def _remove_others(folder: Path, newest: Path, keep: int) -> None:
    """Remove the oldest ones, and those after `newest`, which another run left behind."""
    complete = _complete(folder)
    before = [place for place in complete if place.name < newest.name]
    after = [place for place in complete if place.name > newest.name]
    for old in (*before[: max(0, len(before) + 1 - keep)], *after):
        shutil.rmtree(old, ignore_errors=True)


def _complete(folder: Path) -> list[Path]:
    return sorted(place for place in folder.glob("step-*") if (place / _STATE).is_file())


def _pointed_at(folder: Path) -> str:
    try:
        return (folder / LATEST).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _point(folder: Path, name: str) -> None:
    partial = folder / f".{LATEST}.partial"
    partial.write_text(f"{name}\n", encoding="utf-8")
    _sync(partial)
    partial.replace(folder / LATEST)
    _sync(folder)


def _sync(place: Path) -> None:
    """Have a file or folder on the disk."""
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
