"""Which of many vectors to take within a budget: near to what is asked for, unlike each other.

Exact over all of them, in numpy. Similarities, whose last digits differ from machine to machine,
are rounded before anything is decided by them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tmas_graph.memory.rows import Row

Floats = NDArray[np.float64]
LAMBDA = 0.7
"""How much the score counts; the rest is the likeness to the most alike one taken before."""
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Ranked:
    """What to choose from; all of equal length, in the order in which ties are broken."""

    scores: Floats
    vectors: Floats
    costs: NDArray[np.int64]
    """Tokens of each."""


def similarity(vectors: Floats, others: Floats) -> Floats:
    """Cosine similarity of unit vectors, a row for each of `vectors`."""
    return np.round(vectors @ others.T, _DIGITS) + 0.0


def relevance(vectors: Floats, wanted: Floats) -> Floats:
    """How near each vector is to the nearest of those that are wanted; 0 where none is."""
    if not len(wanted):
        return np.zeros(len(vectors))
    nearest: Floats = similarity(vectors, wanted).max(axis=1, initial=-1.0)
    return nearest


def diverse(ranked: Ranked, budget: int, weight: float = LAMBDA) -> list[int]:
    r"""Places of those to take, best first: maximal marginal relevance (Carbonell, Goldstein 1998).

    The next is always the one with the greatest \(\lambda s - (1-\lambda)m\), where s is its score
    and m its similarity to the most similar one that was taken, among those that still fit.

    Args:
        ranked: what to choose from; at least one.
        budget: tokens.
        weight: lambda; 1 takes the scores alone.
    """
    alike = (1 - weight) * np.maximum(similarity(ranked.vectors, ranked.vectors), 0.0)
    worth, loss = weight * ranked.scores, np.zeros(len(ranked.scores))
    taken: list[int] = []
    while True:
        worth[ranked.costs > budget] = -np.inf
        best = int(np.argmax(worth - loss))
        if worth[best] == -np.inf:
            return taken
        taken.append(best)
        budget -= int(ranked.costs[best])
        worth[best] = -np.inf
        np.maximum(loss, alike[best], out=loss)


def by_distance(vector: Sequence[float], rows: Iterable[Row]) -> list[Row]:
    """`rows` with their distance from `vector`, the nearest first; equally near ones by id."""
    ordered = sorted(rows, key=lambda row: row.id)
    vectors, asked = matrix([row.vector for row in ordered]), matrix([vector])
    near = relevance(_unit(vectors), _unit(asked))
    found = [replace(row, distance=1.0 - n) for row, n in zip(ordered, near.tolist(), strict=True)]
    return sorted(found, key=lambda row: row.distance)


def _unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    shortened: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return shortened


def matrix(rows: Sequence[Sequence[float]]) -> Floats:
    """`rows` as a matrix; without any, one without columns."""
    return np.asarray(rows, np.float64).reshape(len(rows), -1) if len(rows) else np.zeros((0, 0))
