"""Vectors for similarity search: hashed on the spot, from an endpoint, or from a local model.

Nothing here downloads a model. An embedder's `name` says which vectors can be compared: those of
different names can't.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

from tmas_graph.memory.guards import statement

DIMENSION = 1024
_KEPT = 4096
"""Vectors that an embedder remembers; 4 MB for each thousand dimensions."""


class Embedder(Protocol):
    """What turns texts into vectors."""

    @property
    def name(self) -> str:
        """Which vectors these are."""

    @property
    def dimension(self) -> int:
        """Their width; 0 until the first one is known."""

    @property
    def knows_meaning(self) -> bool:
        """Whether texts of one meaning are near without sharing words; see `dedup.BY_MEANING`."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`, one row each; equal texts get equal vectors."""


class Hashing:
    """Words, their stems and their letters, hashed; instantly there, and knows no meaning."""

    name = f"hashing-{DIMENSION}"
    dimension = DIMENSION
    knows_meaning = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`; of zeros for a text without content."""
        return await asyncio.to_thread(embed, texts)  # loading what it needs takes a second


class Remembered:
    """The latest vectors of an embedder by text; it is asked for others in batches."""

    def __init__(
        self,
        ask: Callable[[Sequence[str]], Awaitable[list[list[float]]]],
        *,
        batch: int,
        kept: int = _KEPT,
    ) -> None:
        """Ask `ask` for at most `batch` vectors at a time, and keep at most `kept`."""
        self._ask, self._batch, self._most = ask, batch, kept
        self._kept: OrderedDict[str, list[float]] = OrderedDict()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`; each distinct one is asked for once."""
        found = {text: self._kept[text] for text in texts if text in self._kept}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for begin in range(0, len(missing), self._batch):
            batch = missing[begin : begin + self._batch]
            found |= zip(batch, map(unit, await self._ask(batch)), strict=True)
        for text in found:
            self._kept[text] = found[text]
            self._kept.move_to_end(text)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return [found[text] for text in texts]


def unit(vector: Sequence[float]) -> list[float]:
    """The vector at length 1; one of zeros stays as it is."""
    length = sum(x * x for x in vector) ** 0.5
    return [x / length for x in vector] if length else list(vector)


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Hashed unit vectors of `texts`, one row each, `DIMENSION` wide."""
    if not texts:
        return []
    rows: list[list[float]] = _vectorizer().transform(texts).toarray().tolist()
    return rows


@cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415  (slow to load)

    return HashingVectorizer(analyzer=_features, n_features=DIMENSION)


def _features(text: str) -> list[str]:
    """Words with what stands for them, pairs of words, and the letters of the text."""
    words = [part.text for part in statement(text).parts]
    pairs = [f"{one}|{other}" for one, other in pairwise(words)]
    plain = f" {' '.join(text.split())} "
    letters = [plain[i : i + 4] for i in range(len(plain) - 3)]
    return [*(f"w:{word}" for word in words for _ in range(3)), *pairs, *letters]
