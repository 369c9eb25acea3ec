"""Figures of many runs on the synthetic reasoner: by iteration, by token, with their spread."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from rich.markup import escape
from rich.table import Table

from benchmarks.reasoner.runs import Point

Found = Mapping[str, Mapping[str, Sequence[Sequence[Point]]]]
"""By entrant and problem: its runs, one a seed, each with a point an iteration."""
Measure = Callable[[Point], float]


def right(point: Point) -> float:
    """What Pass@1 is the mean of."""
    return point.right


def selected(point: Point) -> float:
    """Whether the answer that would be given is right."""
    return point.selected


MEASURES: Mapping[str, Measure] = {"Pass@1": right, "selected": selected}


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over problems."""

    value: float
    error: float
    """Standard error, of the per-problem means; 0 for a single problem."""


def length(runs: Mapping[str, Sequence[Sequence[Point]]]) -> int:
    """Iterations of the longest run."""
    return max(len(run) for many in runs.values() for run in many)


def at(run: Sequence[Point], iteration: int) -> Point:
    """How a run stood after `iteration`; one that had ended stood as at its end."""
    return run[min(iteration, len(run) - 1)] if iteration >= 0 else run[iteration]


def by_problem(
    runs: Mapping[str, Sequence[Sequence[Point]]], measure: Measure, iteration: int = -1
) -> dict[str, float]:
    """The mean over seeds, for each problem."""
    return {p: fmean(measure(at(run, iteration)) for run in many) for p, many in runs.items()}


def mean(values: Sequence[float]) -> Mean:
    """Their mean with its standard error."""
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return Mean(fmean(values), error)


def figure(
    runs: Mapping[str, Sequence[Sequence[Point]]], measure: Measure, iteration: int = -1
) -> Mean:
    """The mean over problems of what `measure` says of an iteration, or of the end."""
    return mean(list(by_problem(runs, measure, iteration).values()))


def figures(found: Found) -> dict[str, object]:
    """For each entrant its measures by iteration with their standard errors, and what it took."""
    return {
        name: {
            "problems": len(runs),
            **{
                title: [
                    [(m := figure(runs, measure, t)).value, m.error] for t in range(length(runs))
                ]
                for title, measure in MEASURES.items()
            },
            "tokens": figure(runs, lambda point: point.tokens).value,
            "calls": figure(runs, lambda point: point.calls).value,
        }
        for name, runs in found.items()
    }


def table(found: Found) -> Table:
    """A row for each entrant."""
    shown = Table("entrant", "problems", "Pass@1 by iteration", "selected", "tokens", "calls")
    for name, runs in found.items():
        places = sorted({0, length(runs) // 2, length(runs) - 1})
        rises = " ".join(f"{figure(runs, right, t).value:.2f}" for t in places)
        last, error = figure(runs, selected), figure(runs, right).error
        shown.add_row(
            escape(name),
            str(len(runs)),
            f"{rises} ± {error:.2f}",
            f"{last.value:.2f} ± {last.error:.2f}",
            f"{figure(runs, lambda point: point.tokens).value / 1e6:.2f} M",
            f"{figure(runs, lambda point: point.calls).value:.0f}",
        )
    return shown
