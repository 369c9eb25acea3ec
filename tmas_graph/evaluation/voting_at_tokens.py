"""Self-consistency at any number of tokens: votes of samples drawn anew from one cached pool.

The pool is that of a run of self-consistency, if there is one; else the plain samples with which
another method began (mode initial, iteration 0), which were sampled in the same way.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.majority import Pool, pool_of, share
from tmas_graph.evaluation.metrics import Figure, Try
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.evaluation.tracks import GRADING
from tmas_graph.evaluation.uniting import MethodRun, unlabelled
from tmas_graph.usage import Usage, summed

NAME = "self_consistency"
SAMPLING = "solution"
"""The role that samples."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Plain samples of each problem, and what they cost."""

    source: str
    """The method whose samples they are."""
    tries: Mapping[str, tuple[Try, ...]]
    """By problem; one that failed has a single try, which is an error."""
    drawn: int
    """How many there are, at the problems that didn't fail."""
    spent: Usage
    """On these."""
    exact: bool = True
    """False: other roles' tokens are in `spent`, as none were noted for the role that samples."""

    @property
    def label(self) -> str:
        """What their votes are called among the methods."""
        own = is_voting(self.source)
        return self.source if own else f"{NAME} (samples of {self.source})"

    @property
    def count(self) -> int:
        """How many a problem has; the most, where problems differ."""
        return max(map(len, self.tries.values()))

    @property
    def each(self) -> float:
        """Tokens of one sample, on average."""
        return self.spent.tokens / self.drawn

    def paid_by(self, tokens: float) -> int | None:
        """How many samples a problem gets for `tokens`; None where samples cost nothing."""
        return int(tokens * (1 + 1e-9) / self.each) if self.each else None


@dataclass(frozen=True, slots=True)
class Votes:
    """Majority of `k` samples at each problem."""

    k: int
    """At most; a problem with fewer samples votes with all it has."""
    samples: Samples

    @property
    def values(self) -> dict[str, float]:
        """Chance of a right answer, by problem."""
        pools: dict[str, Pool] = {n: pool_of(tries) for n, tries in self.samples.tries.items()}
        return {name: share(pool, min(self.k, pool.tries)) for name, pool in pools.items()}

    @property
    def selected(self) -> Figure:
        """Share of right answers."""
        return metrics.figure(self.values, metrics.counts_of(self.samples.tries))

    @property
    def spent(self) -> Usage:
        """Estimate what they cost at all problems together: a part of what the pool did."""
        whole, samples = self.samples.spent, self.samples
        part = self.k * len(samples.tries) / samples.drawn
        return Usage(
            calls=round(whole.calls * part),
            prompt_tokens=round(whole.prompt_tokens * part),
            completion_tokens=round(whole.completion_tokens * part),
            reasoning_tokens=round(whole.reasoning_tokens * part),
            cached_tokens=round(whole.cached_tokens * part),
            estimated_tokens=round(whole.estimated_tokens * part),
            cost=whole.cost * part,
        )


def plain_name(method: str) -> str:
    """A method's name without its settings and label."""
    return unlabelled(method).partition("[")[0].replace("-", "_")


def is_voting(method: str) -> bool:
    """Is `method` self-consistency, whatever its settings and label?"""
    return plain_name(method) == NAME


def samples_of(runs: Iterable[MethodRun]) -> Samples | None:
    """The largest pool of plain samples that `runs` hold; one of self-consistency goes first."""
    found = [samples for samples in map(_samples, runs) if samples is not None]
    return max(found, key=lambda s: (is_voting(s.source), s.count), default=None)


def _samples(run: MethodRun) -> Samples | None:
    voting = is_voting(run.name)
    taken = {name: rows if voting else rows[:1] for name, rows in run.rows.items()}
    tries = {name: _tries(rows, every=voting) for name, rows in taken.items()}
    drawn = {name: many for name, many in tries.items() if many}
    if not drawn:
        return None
    rows = [row for name in drawn for row in taken[name]]
    roles = {role for row in rows for role in row.spend} - {GRADING}
    alone = SAMPLING in roles and not voting
    spent = summed(
        usage
        for row in rows
        for role, usage in row.spend.items()
        if role in ({SAMPLING} if alone else roles)
    )
    return Samples(
        source=run.name,
        tries={name: many or (Try("error"),) for name, many in tries.items()},
        drawn=sum(map(len, drawn.values())),
        spent=spent,
        exact=voting or alone,
    )


def _tries(rows: Iterable[Row], *, every: bool) -> tuple[Try, ...]:
    return tuple(
        attempt.graded
        for row in rows
        for attempt in row.attempts
        if every or (row.iteration == 0 and attempt.mode == "initial")
    )


def pass_at_1(samples: Samples) -> dict[str, float]:
    """Share of right samples, by problem."""
    return {name: fmean(t.correct for t in tries) for name, tries in samples.tries.items()}
