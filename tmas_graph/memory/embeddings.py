"""Vectors for similarity search: hashed on the spot, from an endpoint, or from a local model.

Nothing here downloads a model. An embedder's `name` says which vectors can be compared: those of
different names can't.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise, repeat
from math import sqrt
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakKeyDictionary

from tmas_graph.memory.dedup import BY_MEANING, DEFAULT, Thresholds
from tmas_graph.memory.guards import statement

DIMENSION = 1024
_KEPT = 4096
"""Vectors that an embedder remembers; 4 MB for each thousand dimensions."""
_AT_ONCE = 8
"""Texts that are hashed in one step of the event loop, in about 2 ms."""
_turns = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()
_MOST_HASHED = 2048
"""Vectors that hashing remembers; 8 kB each."""
_Vector = TypeVar("_Vector")
_Coming = asyncio.Task[dict[str, list[float]]]


class Embedder(Protocol):
    """What turns texts into vectors."""

    def __hash__(self) -> int:
        """Of the object: banks are shared by those who use the same one."""

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


class _Latest(Generic[_Vector]):
    """The vectors by text that were used last, up to so many; for any thread."""

    def __init__(self, most: int) -> None:
        self._most, self._guard = most, Lock()
        self._kept: OrderedDict[str, _Vector] = OrderedDict()

    def give(self, texts: Iterable[str]) -> dict[str, _Vector]:
        """Those of `texts` that are kept."""
        with self._guard:
            return {text: self._kept[text] for text in texts if text in self._kept}

    def take(self, vectors: Mapping[str, _Vector]) -> None:
        """Keep `vectors`, as the ones used last."""
        with self._guard:
            for text, vector in vectors.items():
                self._kept[text] = vector
                self._kept.move_to_end(text)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


def thresholds_of(embedder: Embedder) -> Thresholds:
    """How alike near-duplicates must be by the vectors of `embedder`."""
    return BY_MEANING if embedder.knows_meaning else DEFAULT


class Hashing:
    """Words, their stems and their letters, hashed; instantly there, and knows no meaning."""

    name = f"hashing-{DIMENSION}"
    dimension = DIMENSION
    knows_meaning = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`; of zeros for a text without content."""
        if not _hasher.cache_info().currsize:
            await asyncio.to_thread(_hasher)  # loading takes a second
        # In steps and one after another: a thread that computes makes the loop wait for Python's
        # lock at each of its system calls, and many who hash in one round make that round long.
        turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        rows: list[list[float]] = []
        for begin in range(0, len(texts), _AT_ONCE):
            async with turn:
                rows += embed(texts[begin : begin + _AT_ONCE])
                await asyncio.sleep(0)
        return rows


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
        self._ask, self._batch = ask, batch
        self._latest = _Latest[list[float]](kept)
        self._coming: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Coming]]
        self._coming = WeakKeyDictionary()
        """By event loop, what is being asked for, so that nobody else asks for it too."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`; each distinct one is asked for once."""
        found = self._latest.give(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for begin in range(0, len(missing), self._batch):
            for text, coming in self._asked(missing[begin : begin + self._batch]).items():
                # Who gives up doesn't take away what others wait for.
                found[text] = (await asyncio.shield(coming))[text]
        self._latest.take(found)
        return [found[text] for text in texts]

    def _asked(self, texts: Sequence[str]) -> dict[str, _Coming]:
        coming = self._coming.setdefault(asyncio.get_running_loop(), {})
        if new := [text for text in texts if text not in coming]:
            task = asyncio.ensure_future(self._answered(new, coming))
            task.add_done_callback(_seen)
            coming.update(dict.fromkeys(new, task))
        return {text: coming[text] for text in texts}

    async def _answered(
        self, texts: Sequence[str], coming: dict[str, _Coming]
    ) -> dict[str, list[float]]:
        try:
            found = dict(zip(texts, map(unit, await self._ask(texts)), strict=True))
            self._latest.take(found)
            return found
        finally:
            for text in texts:
                del coming[text]


def _seen(task: _Coming) -> None:
    if not task.cancelled():
        task.exception()  # whoever waits for it is told; nobody may be left to


def unit(vector: Sequence[float]) -> list[float]:
    """The vector at length 1; one of zeros stays as it is."""
    length = sum(x * x for x in vector) ** 0.5
    return [x / length for x in vector] if length else list(vector)


_hashed = _Latest[Any](_MOST_HASHED)


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Hashed unit vectors of `texts`, one row each, `DIMENSION` wide.

    The candidates of an iteration ask for the same ones, and a bank twice for what it takes in:
    the latest are remembered.
    """
    found = _hashed.give(texts)
    if new := [text for text in dict.fromkeys(texts) if text not in found]:
        rows = _hasher().transform(map(_features, new)).toarray()
        found |= {text: _at_length_1(row) for text, row in zip(new, rows, strict=True)}
    _hashed.take(found)
    return [found[text].tolist() for text in texts]


@cache
def _hasher() -> Any:
    from sklearn.feature_extraction import FeatureHasher  # noqa: PLC0415  (slow to load)

    return FeatureHasher(DIMENSION, input_type="pair")


def _at_length_1(counts: Any) -> Any:
    """A row of its own; its whole numbers have the same length in whatever order they're added."""
    squares = float(counts @ counts)
    return counts / sqrt(squares) if squares else counts.copy()


def _features(text: str) -> list[tuple[str, int]]:
    """Words, pairs of words and letters of the text, and how often each of them counts."""
    words = [part.text for part in statement(text).parts]
    pairs = [f"{one}|{other}" for one, other in pairwise(words)]
    plain = f" {' '.join(text.split())} "
    letters = [plain[i : i + 4] for i in range(len(plain) - 3)]
    return [*((f"w:{word}", 3) for word in words), *zip([*pairs, *letters], repeat(1))]
