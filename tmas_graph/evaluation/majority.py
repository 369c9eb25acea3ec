"""Chance that the commonest answer of some tries is right, exactly.

Drawing `k` of `n` tries is drawing each with probability k/n, given that it comes to `k`: so the
number of votes of each class is binomial, and classes are multiplied as polynomials whose numbers
stay of common size. A tie of several classes is broken by chance.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import exp, lgamma, log, log1p
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Array_DT = NDArray[np.float64]
"""Chance of D votes of some classes together, T of which have as many as the leading one."""


class Ballot(Protocol):
    """What a vote says, and whether that is right."""

    @property
    def answer_class(self) -> int | None:
        """Equal for equal answers; None doesn't vote."""

    @property
    def correct(self) -> bool:
        """Was it graded as right?"""


class Pool(NamedTuple):
    """The tries of one problem, as votes alone."""

    right: tuple[int, ...]
    """Sizes of the classes that are right, the largest first; a class with a right try is."""
    wrong: tuple[int, ...]
    tries: int
    """All of them, those that don't vote included."""


def pool_of(ballots: Iterable[Ballot]) -> Pool:
    """Count the votes of `ballots`."""
    tries = list(ballots)
    sizes = Counter(one.answer_class for one in tries if one.answer_class is not None)
    right = {one.answer_class for one in tries if one.correct}
    found = sorted(sizes.items(), key=lambda item: -item[1])
    return Pool(
        tuple(size for name, size in found if name in right),
        tuple(size for name, size in found if name not in right),
        len(tries),
    )


@lru_cache(maxsize=4096)
def share(pool: Pool, k: int) -> float:
    """Chance that most of `k` tries, drawn from `pool`, vote for a right answer.

    Raises:
        ValueError: the pool has fewer than `k`.
    """
    if not 0 < k <= pool.tries:
        raise ValueError(f"majority@k: k is {k}, but there are {pool.tries} tries. Draw more.")
    if k == pool.tries:
        return _of_all(pool)
    found = sum(
        _led_by(place, votes, pool, k)
        for place, size in enumerate(pool.right)
        for votes in range(1, min(k, size) + 1)
    )
    return float(min(1.0, found / _binomial(pool.tries, k / pool.tries)[k]))


def _of_all(pool: Pool) -> float:
    most = max((*pool.right, *pool.wrong), default=0)
    leading = pool.right.count(most) + pool.wrong.count(most)
    return pool.right.count(most) / leading if most else 0.0


def _led_by(place: int, votes: int, pool: Pool, k: int) -> float:
    """Chance that `k` are drawn, and the right class at `place` wins with just so many votes."""
    others = (*pool.right[:place], *pool.right[place + 1 :], *pool.wrong)
    rivals = [size for size in others if size >= votes]
    free = pool.tries - pool.right[place] - sum(rivals)  # classes too small to lead, and no votes
    chance, left = k / pool.tries, k - votes
    rest = np.zeros(left + 1)
    known = _binomial(free, chance)[: left + 1]
    rest[: len(known)] = known
    by_ties = _among(rivals, votes, chance, left).T @ rest[::-1]
    broken = by_ties / np.arange(1, len(by_ties) + 1)
    return float(_binomial(pool.right[place], chance)[votes] * broken.sum())


def _among(sizes: Sequence[int], votes: int, chance: float, most: int) -> Array_DT:
    """Chances of what rivals get that have at most `votes` each, and at most `most` together."""
    found = np.zeros((most + 1, min(len(sizes), most // votes) + 1))
    found[0, 0] = 1.0
    for size in sizes:
        chances = _binomial(size, chance)
        before, found = found, found * chances[0]
        for drawn in range(1, min(votes - 1, most) + 1):
            found[drawn:] += before[:-drawn] * chances[drawn]
        if votes <= most:
            found[votes:, 1:] += before[:-votes, :-1] * chances[votes]
    return found


@lru_cache(maxsize=4096)
def _binomial(n: int, chance: float) -> NDArray[np.float64]:
    """Chances of 0 to `n` hits in `n` draws; by logarithms, as the factorials grow too large."""
    hit, miss = log(chance), log1p(-chance)
    ways = [lgamma(n + 1) - lgamma(h + 1) - lgamma(n - h + 1) for h in range(n + 1)]
    return np.array([exp(way + h * hit + (n - h) * miss) for h, way in enumerate(ways)])
