"""What a run will take, from a few problems that were measured: calls, tokens, money and hours.

Each method's problems are taken to be alike: the mean over those measured, times the problems that
are left. The spread is that of such a sum, 95 %; with one problem measured it isn't known.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from tmas_graph.call_sums import Pace, pace
from tmas_graph.errors import SettingsError
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_rows import Row, read
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage, summed


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount, and by how much it may be off."""

    value: float
    spread: float | None
    """Half of the 95 % interval; None: not known."""

    def __add__(self, other: "Amount") -> "Amount":
        """The sum of two that are independent."""
        if self.spread is None or other.spread is None:
            return Amount(self.value + other.value, None)
        return Amount(self.value + other.value, sqrt(self.spread**2 + other.spread**2))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one method will take, measured problems included."""

    method: str
    problems: int
    measured: int
    most_calls: int
    """By the method's own formula, where one reply is one call."""
    calls: Amount
    tokens: Amount
    completion_tokens: Amount
    cost: Amount
    tokens_by_role: dict[str, float]
    """Per request, on average."""
    longest: float
    """Seconds of the measured problem that took longest."""


@dataclass(frozen=True, slots=True)
class Total:
    """What all methods will take together."""

    calls: Amount
    tokens: Amount
    cost: Amount
    seconds: float | None
    """With as many calls in flight as are allowed, each as long as those measured."""
    per_call: float | None
    """Seconds of a request, on average."""


def estimates(rows: Sequence[Row], taking_part: Sequence[Entrant], problems: int) -> list[Estimate]:
    """What each method will take for `problems` problems.

    Raises:
        SettingsError: a method has no problem that came through.
    """
    by_job = defaultdict[Job, list[Row]](list)
    for row in rows:
        by_job[Job(row.problem, row.method)].append(row)
    whole = {job: many for job, many in by_job.items() if any(r.stop is not None for r in many)}
    found = []
    for entrant in taking_part:
        of_method = [many for job, many in whole.items() if job.method == entrant.label]
        if not of_method:
            raise SettingsError(
                f"estimate: no problem came through with {entrant.label}. Measure some first."
            )
        found.append(_estimate(entrant, of_method, max(problems, len(of_method))))
    return found


def total(each: Sequence[Estimate], measured: Pace, concurrency: int) -> Total:
    """All methods together, at `concurrency` calls in flight."""
    nothing = Amount(0.0, 0.0)
    calls = sum((one.calls for one in each), nothing)
    per_call = measured.seconds / measured.requests if measured.requests else None
    seconds = None
    if per_call is not None:
        longest = max((one.longest for one in each), default=0.0)
        seconds = max(calls.value * per_call / concurrency, longest)
    return Total(
        calls=calls,
        tokens=sum((one.tokens for one in each), nothing),
        cost=sum((one.cost for one in each), nothing),
        seconds=seconds,
        per_call=per_call,
    )


def rows_in(folder: Path) -> Sequence[Row]:
    """The rows of the run in `folder`.

    Raises:
        StorageError: there are none, or they can't be read.
    """
    return read(folder / run_rows.FILE).rows


async def pace_in(folder: Path) -> Pace:
    """How long the calls of the run in `folder` took; nothing for a merged run, without calls."""
    if not (folder / "tmas.sqlite").exists():
        return Pace(0, 0.0)
    async with open_threads(folder) as store:
        return await pace(store.saver)


def _estimate(entrant: Entrant, measured: Sequence[Sequence[Row]], problems: int) -> Estimate:
    spent = [summed(row.spent for row in many) for many in measured]
    return Estimate(
        method=entrant.label,
        problems=problems,
        measured=len(measured),
        most_calls=entrant.calls * problems,
        calls=_amount([float(usage.calls) for usage in spent], problems),
        tokens=_amount([float(usage.tokens) for usage in spent], problems),
        completion_tokens=_amount([float(u.completion_tokens) for u in spent], problems),
        cost=_amount([usage.cost for usage in spent], problems),
        tokens_by_role=_by_role(row for many in measured for row in many),
        longest=max(sum(row.seconds for row in many) for many in measured),
    )


def _amount(measured: Sequence[float], problems: int) -> Amount:
    """The sum over `problems`, of which some are measured."""
    n, left = len(measured), problems - len(measured)
    value = sum(measured) + left * fmean(measured)
    if n < 2:
        return Amount(value, None if left else 0.0)
    return Amount(value, 1.96 * stdev(measured) * sqrt(left + left * left / n))


def _by_role(rows: Iterable[Row]) -> dict[str, float]:
    spent = defaultdict[str, Usage](Usage)
    for row in rows:
        for role, usage in row.spend.items():
            spent[role] += usage
    return {role: u.tokens / u.calls for role, u in sorted(spent.items()) if u.calls}
