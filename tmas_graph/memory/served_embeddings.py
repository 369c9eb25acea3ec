"""Vectors from any OpenAI-compatible `/v1/embeddings`."""

import asyncio
import math
from collections.abc import Sequence
from typing import Any

from tmas_graph.errors import CallError, RequestRefused
from tmas_graph.memory.embeddings import Remembered
from tmas_graph.models.connections import connections
from tmas_graph.models.events import decoded
from tmas_graph.models.faults import Fault
from tmas_graph.models.served import explained
from tmas_graph.models.transport import asked

_SECONDS = 60.0
_TRIES = 4
_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE = 30.0
_KEY = "TMAS_EMBEDDINGS__API_KEY"


class ServedEmbeddings:
    """An embedding model behind a URL; a text is asked for once, as long as it is remembered."""

    knows_meaning = True

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        key: str = "",
        batch: int = 64,
        pause_seconds: float = _PAUSE_SECONDS,
    ) -> None:
        """Ask for `batch` vectors at a time; a busy server again, after a pause that doubles."""
        self.name = model  # not its address, which may change: the vectors stay the same
        self.dimension = 0
        self._where = f"{base_url.rstrip('/')}/embeddings"
        self._model, self._key, self._pause = model, key, pause_seconds
        self._remembered = Remembered(self._ask, batch=batch)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Unit vectors of `texts`.

        Raises:
            EndpointDown: nothing answers, or it stays busy.
            RequestRefused: wrong key or model, or an answer that holds no vectors.
        """
        return await self._remembered.embed(texts)

    async def _ask(self, texts: Sequence[str]) -> list[list[float]]:
        for tried in range(1, _TRIES + 1):
            try:
                vectors = _vectors(await self._answer(texts), len(texts))
                break
            except Fault as fault:
                if tried == _TRIES or not fault.again or fault.kind == "malformed":
                    raise self._explained(fault) from fault
                pause = fault.retry_after or self._pause * 2 ** (tried - 1)
                await asyncio.sleep(min(pause, _LONGEST_PAUSE))
        self._measure(vectors)
        return vectors

    async def _answer(self, texts: Sequence[str]) -> Any:
        """One request, over a connection of its own, so that any event loop may ask."""
        # An empty text is refused by some servers; a space stands for it.
        body = {"model": self._model, "input": [text or " " for text in texts]}
        try:
            async with asyncio.timeout(_SECONDS), connections(self._where, 1) as http:
                return decoded(await asked(http, "POST", self._where, self._key, body))
        except TimeoutError:
            raise Fault("broken", f"no answer came within {_SECONDS:g} s") from None

    def _explained(self, fault: Fault) -> CallError:
        if fault.kind == "context":
            return RequestRefused(
                f"{self._where}: a text is too long for {self._model} ({fault.words}). "
                "Choose an embedding model with a longer context.",
                fault.status,
            )
        return explained(fault, self._where, _KEY)

    def _measure(self, vectors: Sequence[Sequence[float]]) -> None:
        widths = {len(vector) for vector in vectors} | ({self.dimension} - {0})
        if len(widths) != 1:
            raise RequestRefused(
                f"{self._where}: vectors of widths {sorted(widths)} came from {self._model}. "
                "See what the server serves under that name."
            )
        if not all(math.isfinite(number) for vector in vectors for number in vector):
            # Chroma takes them, and finds nothing any more.
            raise RequestRefused(
                f"{self._where}: vectors that hold NaN or Infinity came from {self._model}. "
                "See what the server serves under that name."
            )
        self.dimension = widths.pop()


def _vectors(body: Any, wanted: int) -> list[list[float]]:
    """The vectors in the order of the texts, whatever order they came in."""
    rows = body.get("data") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(rows) != wanted:
        count = len(rows) if isinstance(rows, list) else "no"
        raise Fault("malformed", f"{count} vectors for {wanted} texts")
    try:
        placed = {row.get("index", i): row["embedding"] for i, row in enumerate(rows)}
        vectors = [[float(x) for x in placed[i]] for i in range(wanted)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Fault("malformed", "a row without its vector") from error
    if not all(vectors):
        raise Fault("malformed", "an empty vector")
    return vectors
