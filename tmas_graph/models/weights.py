"""Local models: what a reference means, and which are in the user's cache.

A reference is a name of the catalogue, a path to a GGUF file, or a GGUF repository of the
Hugging Face hub (`org/repo`, `org/repo:quant`, `org/repo:file.gguf`).
"""

import contextlib
import difflib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.models import catalogue, hub
from tmas_graph.models.catalogue import CATALOGUE, DEFAULT_MODEL, Progress, no_progress

__all__ = [
    "CATALOGUE",
    "DEFAULT_MODEL",
    "LocalModel",
    "Progress",
    "cached",
    "models_folder",
    "no_progress",
    "remove",
    "resolve",
]


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model whose weights are on this machine."""

    name: str
    path: Path
    """The GGUF file; of a model in several files the first."""
    size: int
    """Bytes, of all its files."""


def models_folder() -> Path:
    """Return the folder of the user's cache that holds fetched models; it may not exist yet."""
    return Path(platformdirs.user_cache_dir("tmas-graph")) / "models"


def resolve(
    reference: str,
    *,
    folder: Path | None = None,
    progress: Progress = no_progress,
    download: catalogue.Download = catalogue.pip_download,
) -> LocalModel:
    """Return the model that `reference` names, fetched into `folder` first where need be.

    Blocks for as long as the download takes. A file of the user's own is used where it is.

    Raises:
        SettingsError: there is no such model or file, or the file isn't GGUF.
        EndpointDown: it had to be fetched and nothing answered.
        MissingExtra: it had to be fetched and there is nothing to fetch it with.
        StorageError: the folder can't be written, or what came has another checksum.
    """
    place = folder or models_folder()
    if model := CATALOGUE.get(reference):
        return _local(
            reference, catalogue.fetch(model, place, progress=progress, download=download)
        )
    if kept := next((model for model in cached(place) if model.name == reference), None):
        return kept
    path = Path(os.path.expanduser(reference))  # Path's own raises where there's no such user
    if path.is_file() or _means_path(reference):
        return _local(path.stem, path)
    if hub.REFERENCE.fullmatch(reference):
        return _local(reference, hub.fetch(reference, place, progress))
    known = [*CATALOGUE, *(model.name for model in cached(place))]
    raise SettingsError(
        f"{reference!r}: no such local model. {_hint(reference, known)} "
        "A path to a GGUF file or a hub id such as org/repo:Q4_K_M works too."
    )


def cached(folder: Path | None = None) -> tuple[LocalModel, ...]:
    """List the models in `folder`, sorted by name."""
    place = folder or models_folder()
    names = (path.relative_to(place).as_posix() for path in place.rglob("*.gguf"))
    files = [name for name in names if not name.startswith(".") and "/." not in name]
    firsts = {parts[0] for name in files if (parts := hub.pick(files, name))}
    return tuple(
        LocalModel(_name(first), place / first, _size(place / first)) for first in sorted(firsts)
    )


def remove(name: str, *, folder: Path | None = None) -> LocalModel:
    """Delete a model of `folder`, by the name that `cached` gives, and say what it was.

    Raises:
        SettingsError: no model of that name is there.
        StorageError: its files can't be deleted.
    """
    place = folder or models_folder()
    models = {model.name: model for model in cached(place)}
    if name not in models:
        raise SettingsError(
            f"{name!r}: no such model in {place}. {_hint(name, models)} "
            "`tmas models list` shows them."
        )
    model = models[name]
    try:
        with catalogue.locked(place, name.replace("/", "-").replace(":", "-")):
            for path in _files(model.path):
                path.unlink(missing_ok=True)
            _drop_empty_repository(model.path, place)
    except OSError as error:
        raise StorageError(
            f"{model.path}: can't be deleted ({error}). Mend its permissions, or delete it by hand."
        ) from error
    return model


def _means_path(reference: str) -> bool:
    """Say whether a reference that names no file was meant as a path all the same."""
    of_a_hub = ":" in reference and hub.REFERENCE.fullmatch(reference)
    return reference.startswith((".", "/", "~")) or (reference.endswith(".gguf") and not of_a_hub)


def _local(name: str, path: Path) -> LocalModel:
    if not path.is_file():
        raise SettingsError(f"{path}: no such file. Check the path of the GGUF file.")
    try:
        with path.open("rb") as file:
            start = file.read(len(catalogue.GGUF_MAGIC))
    except OSError as error:
        raise StorageError(f"{path}: can't be read ({error}). Mend its permissions.") from error
    if start != catalogue.GGUF_MAGIC:
        raise SettingsError(
            f"{path}: not a GGUF file (it begins with {start!r}, not {catalogue.GGUF_MAGIC!r}). "
            "Give a model in llama.cpp's format, or fetch it again."
        )
    return LocalModel(name, path.resolve(), _size(path))


def _files(first: Path) -> list[Path]:
    names = [path.name for path in first.parent.glob("*.gguf")]
    return [first.parent / name for name in hub.pick(names, first.name)] or [first]


def _size(first: Path) -> int:
    return sum(path.stat().st_size for path in _files(first))


def _name(file: str) -> str:
    """Name a cached file as a reference to it: `org/repo:file.gguf`, or its stem at the top."""
    parts = file.split("/", 2)
    return f"{parts[0]}/{parts[1]}:{parts[2]}" if len(parts) == 3 else Path(file).stem


def _drop_empty_repository(file: Path, folder: Path) -> None:
    """Remove a hub repository's folder, with the hub's notes in it, once no model is left there."""
    owner, *rest = file.relative_to(folder).parts
    if len(rest) > 1 and not any((folder / owner / rest[0]).rglob("*.gguf")):
        shutil.rmtree(folder / owner / rest[0])
        with contextlib.suppress(OSError):  # another repository of the same owner is there
            (folder / owner).rmdir()


def _hint(name: str, known: Iterable[str]) -> str:
    """Say which known names `name` may have been meant for, or which there are."""
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"There {'is' if len(names) == 1 else 'are'} {', '.join(names) or 'none'}."
