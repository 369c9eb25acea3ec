"""Vectors from a sentence-transformers model in a local folder."""

import asyncio
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from tmas_graph.errors import MissingExtra, StorageError
from tmas_graph.memory.embeddings import Remembered

_BATCH = 64
_loading = Lock()


class SentenceModel:
    """A model that sentence-transformers loads; it is loaded when first asked, off the loop."""

    knows_meaning = True

    def __init__(self, folder: str | Path, *, device: str = "cpu") -> None:
        """Use the model in `folder`; nothing is ever downloaded."""
        self._folder = Path(folder).absolute()
        self._device = device
        self.name = f"sentence-transformers:{self._folder}"
        self.dimension = 0
        self._remembered = Remembered(self._ask, batch=_BATCH)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`.

        Raises:
            MissingExtra: sentence-transformers isn't installed.
            StorageError: there is no model in the folder, or it can't be loaded.
        """
        return await self._remembered.embed(texts)

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        vectors = await asyncio.to_thread(self._encode, texts)
        self.dimension = len(vectors[0])
        return vectors

    def _encode(self, texts: Sequence[str]) -> list[list[float]]:
        with _loading:  # two threads would load it twice; the model itself isn't thread-safe
            model = _loaded(self._folder, self._device)
            rows: list[list[float]] = model.encode(list(texts), show_progress_bar=False).tolist()
        return rows


@cache
def _loaded(folder: Path, device: str) -> Any:
    if not folder.is_dir():
        raise StorageError(
            f"embeddings: {folder} is no folder. Give the folder of a sentence-transformers model."
        )
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415  (an extra; seconds)
    except ImportError as error:
        raise MissingExtra(
            "sentence-transformers isn't installed, and a local embedding model needs it. "
            'Run: pip install "tmas-graph[embeddings]"'
        ) from error
    try:
        return SentenceTransformer(str(folder), device=device, local_files_only=True)
    except Exception as error:  # any of a dozen, as the files are damaged
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise StorageError(
            f"embeddings: the model in {folder} can't be loaded ({reason:.200}). "
            "Give the folder of a sentence-transformers model."
        ) from error
