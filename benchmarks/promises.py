"""What the method promises, each as a paired difference over problems with its interval.

A promise holds if all of the 95 % interval is on its side of zero, doesn't hold if all of it is on
the other side, and is undecided else: then more problems are wanted, not a kinder word.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from rich.table import Table

from benchmarks.arms import GRIDS
from benchmarks.curves import MEASURES, Found, Measure, by_problem, length
from tmas_graph.evaluation.paired import difference

Verdict = Literal["holds", "does not hold", "undecided"]
_BANKS = {"tmas-no-experience": "experience", "tmas-no-guideline": "guideline"}


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise by one measure, and what the runs say of it."""

    text: str
    measure: str
    value: float
    """The difference that should be above zero."""
    low: float
    high: float
    problems: int

    @property
    def verdict(self) -> Verdict:
        """Whether it holds."""
        if self.low > 0:
            return "holds"
        return "does not hold" if self.high < 0 else "undecided"


def judged(found: Found, noises: Sequence[float]) -> list[Promise]:
    """Every promise by both measures, as far as those were run whom it is about."""
    return [
        promise
        for name, measure in MEASURES.items()
        for promise in (
            *_rising(found, name, measure),
            *_banks(found, name, measure),
            *_epsilon(found, name, measure),
            *_more(found, name, measure),
            *_noise(found, [x for x in noises if f"tmas, noise {x:g}" in found], name, measure),
        )
    ]


def table(promises: Sequence[Promise]) -> Table:
    """A row for each."""
    shown = Table("promise", "by", "difference", "95 % interval", "problems", "verdict")
    for one in promises:
        interval = f"{one.low:+.3f} … {one.high:+.3f}"
        cells = (f"{one.value:+.3f}", interval, str(one.problems), one.verdict)
        shown.add_row(one.text, one.measure, *cells)
    return shown


def _rising(found: Found, name: str, measure: Measure) -> list[Promise]:
    if "tmas" not in found:
        return []
    runs, last = found["tmas"], length(found["tmas"]) - 1
    ends = {max(0, last - 2): "the last but two", last // 2: "its middle", 0: "its first"}
    return [
        _promise(
            f"TMAS: its last iteration beats {words}",
            name,
            by_problem(runs, measure, t),
            by_problem(runs, measure, last),
        )
        for t, words in ends.items()
        if t < last
    ]


def _banks(found: Found, name: str, measure: Measure) -> list[Promise]:
    if not {"tmas", "tmas-neither", *_BANKS} <= found.keys():
        return []
    whole, neither = (by_problem(found[n], measure) for n in ("tmas", "tmas-neither"))
    made = []
    for ablation, bank in _BANKS.items():
        without = by_problem(found[ablation], measure)
        made.append(_promise(f"removing the {bank} bank costs accuracy", name, without, whole))
        text = f"removing both costs more than removing the {bank} bank"
        made.append(_promise(text, name, neither, without))
    return made


def _epsilon(found: Found, name: str, measure: Measure) -> list[Promise]:
    ends = [x for x in (0.0, 1.0) if {"tmas", f"tmas[epsilon={x}]"} <= found.keys()]
    return [
        _promise(
            f"ε 0.2 beats ε {end:g}",
            name,
            by_problem(found[f"tmas[epsilon={end}]"], measure),
            by_problem(found["tmas"], measure),
        )
        for end in ends
    ]


def _more(found: Found, name: str, measure: Measure) -> list[Promise]:
    """More candidates help, and so do more checks: the most against the fewest that were run."""
    made = []
    for setting, letter in {"candidates": "N", "verifications": "M"}.items():
        counts = [n for n in GRIDS[setting] if f"tmas[{setting}={n}]" in found]
        if len(counts) < 2:
            continue
        few, many = counts[0], counts[-1]
        ends = [by_problem(found[f"tmas[{setting}={n}]"], measure) for n in (few, many)]
        made.append(_promise(f"{letter} {many} beats {letter} {few}", name, *ends))
    return made


def _noise(found: Found, noises: Sequence[float], name: str, measure: Measure) -> list[Promise]:
    """Worse checks cost, yet the first step costs less than half of it, and no step most of it."""
    if "tmas" not in found or not noises:
        return []
    runs = [found["tmas"], *(found[f"tmas, noise {noise:g}"] for noise in noises)]
    levels = [by_problem(one, measure) for one in runs]
    best, worst = levels[0], levels[-1]
    made = [_promise("coins for checks cost accuracy", name, worst, best)]
    # No cliff: each step costs less than three quarters of what all steps cost together.
    for (first, second), noise in zip(pairwise(levels), noises, strict=True):
        shared = first.keys() & second.keys() & best.keys() & worst.keys()
        step = {p: first[p] - second[p] for p in shared}
        most = {p: 0.75 * (best[p] - worst[p]) for p in shared}
        made.append(_promise(f"no cliff: the step to noise {noise:g}", name, step, most))
    return made


def _promise(
    text: str, measure: str, less: Mapping[str, float], more: Mapping[str, float]
) -> Promise:
    """That `more` is above `less`, over the problems that both have."""
    shared = sorted(less.keys() & more.keys())
    found = difference({p: less[p] for p in shared}, {p: more[p] for p in shared})
    low, high = found.interval.low, found.interval.high
    return Promise(text, measure, found.value, low, high, len(shared))
