"""Statistics of an evaluation: pure functions from graded tries to figures with their spread.

Problems are the unit: tries at one problem aren't independent, so a standard error comes from the
per-problem means. Unanswered, truncated, unsure and failed tries stay in the denominator, and are
counted beside every figure. `pass_at` is an oracle's figure: it says that some try is right, not
that one can tell which; `majority_at` and `selected` are what a user gets.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Literal

from scipy.special import stdtrit

from tmas_graph.evaluation import majority

Status = Literal["correct", "incorrect", "unsure", "error", "unanswered", "truncated", "ungraded"]
"""How a try counts; `ungraded`, for want of a gold answer, is for callers to leave out."""


@dataclass(frozen=True, slots=True)
class Try:
    """One solution of one problem, graded."""

    status: Status
    answer_class: int | None = None
    """Equal for answers of this problem that are equal; None without an answer."""

    @property
    def correct(self) -> bool:
        """Only a verdict of `correct` counts as right."""
        return self.status == "correct"


Tries = Mapping[str, Sequence[Try]]
"""By problem id."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How the tries behind a figure ended; nothing is left out of its denominator."""

    tries: int
    correct: int
    incorrect: int
    unsure: int
    error: int
    unanswered: int
    truncated: int


@dataclass(frozen=True, slots=True)
class Interval:
    """Where a figure may well lie."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A share of problems in [0, 1], with its spread over problems."""

    value: float
    standard_error: float | None
    """sd of the per-problem values / √n; None for a single problem."""
    interval: Interval
    """95 %: Wilson's where each problem is simply right or wrong, else Student's."""
    problems: int
    counts: Counts


def counts_of(tries: Tries) -> Counts:
    """Count how the tries ended."""
    found = Counter(one.status for many in tries.values() for one in many)
    return Counts(
        tries=found.total(),
        correct=found["correct"],
        incorrect=found["incorrect"],
        unsure=found["unsure"],
        error=found["error"],
        unanswered=found["unanswered"],
        truncated=found["truncated"],
    )


def pass_at(tries: Tries, k: int = 1) -> Figure:
    """Chance that at least one of `k` tries is right, without bias (arXiv 2107.03374, eq. 1).

    Raises:
        ValueError: a problem has fewer than `k` tries.
    """
    _enough(tries, k)
    values = {
        name: pass_at_k(len(many), sum(one.correct for one in many), k)
        for name, many in tries.items()
    }
    return figure(values, counts_of(tries))


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Give 1 - C(n - correct, k) / C(n, k): the share of subsets of `k` of `n` with a right one."""
    if not 0 < k <= n:
        raise ValueError(f"pass@k: k is {k}, but there are {n} tries. Use 1 to {n}.")
    return 1.0 - comb(n - correct, k) / comb(n, k)


def majority_at(tries: Tries, k: int) -> Figure:
    """Chance that the commonest answer of `k` tries is right, over all subsets of the tries.

    Equal answers vote together, a tie is broken by chance, a try without an answer doesn't vote.

    Raises:
        ValueError: a problem has fewer than `k` tries.
    """
    _enough(tries, k)
    values = {name: majority.share(majority.pool_of(many), k) for name, many in tries.items()}
    return figure(values, counts_of(tries))


def selected(statuses: Mapping[str, Status]) -> Figure:
    """How many of the answers that a method finally gave, one a problem, are right."""
    tries = {name: (Try(status),) for name, status in statuses.items()}
    return figure({name: float(many[0].correct) for name, many in tries.items()}, counts_of(tries))


def figure(by_problem: Mapping[str, float], counts: Counts) -> Figure:
    """Give the mean over problems with its spread.

    Raises:
        ValueError: there is no problem.
    """
    values = list(by_problem.values())
    if not values:
        raise ValueError("metrics: there is no problem. Give at least one.")
    n, mean = len(values), fmean(values)
    error = stdev(values) / sqrt(n) if n > 1 else None
    if all(value in (0.0, 1.0) for value in values):
        return Figure(mean, error, wilson(round(sum(values)), n), n, counts)
    if error is None:
        return Figure(mean, error, Interval(0.0, 1.0), n, counts)
    spread = float(stdtrit(n - 1, 0.975)) * error  # with few problems 1.96 errors are too few
    interval = Interval(max(0.0, mean - spread), min(1.0, mean + spread))
    return Figure(mean, error, interval, n, counts)


def wilson(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Interval for a share, sound for small `n` and near 0 and 1 (Wilson 1927)."""
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"wilson: {successes} of {n}. Give 0 <= successes <= n, n > 0.")
    z, share = _z(confidence), successes / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    return Interval(low, 1.0 if successes == n else min(1.0, middle + half))


def _enough(tries: Tries, k: int) -> None:
    for name, many in tries.items():
        if not 0 < k <= len(many):
            raise ValueError(f"metrics: {name} has {len(many)} tries, but k is {k}. Draw more.")


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def per_problem(tries: Tries) -> dict[str, float]:
    """Give the share of right tries of every problem, for `paired.difference`."""
    return {name: fmean(one.correct for one in many) for name, many in tries.items()}
