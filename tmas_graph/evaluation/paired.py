"""Differences of two methods, paired by problem, with their intervals and chances.

What resampling draws is the same for all differences over as many problems, so that equal data
give equal figures, and thousands of comparisons take seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum

import numpy as np
from numpy.typing import NDArray

from tmas_graph.evaluation.metrics import Interval

_EXACT = 13
"""Problems that differ, up to which all patterns of signs are tried: 2¹³ of them."""
_TIE = 1e-12
"""Sums that differ by less are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Method B minus method A, paired by problem."""

    value: float
    interval: Interval
    """95 %, by a paired bootstrap over problems."""
    p: float
    """Two-sided, by flipping the signs of the per-problem differences."""
    problems: int
    better: int
    worse: int


def difference(
    first: Mapping[str, float],
    second: Mapping[str, float],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Difference:
    """Compare two methods' per-problem values, `second` minus `first`.

    Raises:
        ValueError: they aren't about the same problems, or there is none.
    """
    if not first or first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())
        raise ValueError(f"metrics: a paired difference needs the same problems; not both: {odd}.")
    deltas_P = np.array([second[name] - first[name] for name in sorted(first)])
    return Difference(
        value=fsum(deltas_P) / len(deltas_P),
        interval=_bootstrap(deltas_P, resamples, seed),
        p=_sign_flip(deltas_P, resamples, seed),
        problems=len(deltas_P),
        better=int((deltas_P > 0).sum()),
        worse=int((deltas_P < 0).sum()),
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Correct `chances` for their number (Holm 1979), in the same order."""
    ordered = sorted(range(len(chances)), key=lambda place: chances[place])
    corrected, least = [0.0] * len(chances), 0.0
    for rank, place in enumerate(ordered):
        least = max(least, min(1.0, chances[place] * (len(chances) - rank)))
        corrected[place] = least
    return corrected


def _bootstrap(deltas_P: NDArray[np.float64], resamples: int, seed: int) -> Interval:
    means = _drawn(len(deltas_P), resamples, seed) @ deltas_P / len(deltas_P)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(low), float(high))


def _sign_flip(deltas_P: NDArray[np.float64], resamples: int, seed: int) -> float:
    """Share of sign patterns whose sum is as far from 0; all of them where they are few."""
    moved = deltas_P[deltas_P != 0]
    seen = abs(moved.sum()) - _TIE
    if len(moved) <= _EXACT:
        patterns = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float((abs((1 - 2 * patterns) @ moved) >= seen).mean())
    extreme = int((abs(_signs(len(moved), resamples, seed) @ moved) >= seen).sum())
    return (extreme + 1) / (resamples + 1)


@lru_cache(maxsize=8)
def _drawn(n: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """How often each of `n` problems is drawn in each resample, as R rows."""
    chances = np.full(n, 1 / n)
    return np.random.default_rng(seed).multinomial(n, chances, size=resamples).astype(np.float64)


@lru_cache(maxsize=8)
def _signs(n: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """Patterns of signs of `n` problems, as R rows."""
    drawn = np.random.default_rng(seed).integers(0, 2, size=(resamples, n))
    return (1 - 2 * drawn).astype(np.float64)
