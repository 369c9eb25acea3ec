"""What is in the files of training data, and what is not and why."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import quantiles

from tmas_graph.grpo.rows import SOURCES
from tmas_graph.training_data.pass_rates import PassRate
from tmas_graph.training_data.samples import Sample

INNER = 5
"""Bars of the histogram strictly between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of prompts, about: no tokenizer is asked."""

    median: int
    p90: int
    longest: int


@dataclass(frozen=True, slots=True)
class Part:
    """One file."""

    rows: Mapping[str, int]
    """By source."""
    problems: int


@dataclass(frozen=True, slots=True)
class Report:
    """What was made of some runs."""

    runs: tuple[str, ...]
    parts: Mapping[str, Part]
    """`train` and `held_out`."""
    p0: Mapping[str, int]
    """Problems with enough rollouts by how often they were solved, before `difficulty`."""
    tokens: Mapping[str, Lengths]
    """Of prompts, by source."""
    problems_left_out: Mapping[str, int]
    rows_left_out: Mapping[str, int]
    rollouts: Mapping[str, int]
    """Behind p0, by method."""
    models: Mapping[str, int]
    """Who wrote them."""
    rollouts_left_out: Mapping[str, int]
    notes: tuple[str, ...] = ()
    held_out: tuple[str, ...] = field(default=())
    """Ids of the problems that are held out."""


def part_of(samples: Sequence[Sample]) -> Part:
    """What stands in one file."""
    count = Counter(sample.source for sample in samples)
    return Part(
        {source: count[source] for source in SOURCES},
        len({sample.problem.question for sample in samples}),
    )


def histogram(rates: Iterable[PassRate]) -> dict[str, int]:
    """How many problems have a p0 of 0, of 1, and how many lie in each bar between."""
    bars = [0] * INNER
    none = every = 0
    for rate in rates:
        none += rate.correct == 0
        every += rate.correct == rate.rollouts
        if 0 < rate.correct < rate.rollouts:
            bars[rate.correct * INNER // rate.rollouts] += 1  # whole numbers: no bar is missed
    edges = [f"{i / INNER:g}-{(i + 1) / INNER:g}" for i in range(INNER)]
    return {"0": none, **dict(zip(edges, bars, strict=True)), "1": every}


def lengths(samples: Iterable[Sample]) -> dict[str, Lengths]:
    """The lengths of prompts by source, of those that there are."""
    tokens: dict[str, list[int]] = {source: [] for source in SOURCES}
    for sample in samples:
        tokens[sample.source].append(sample.tokens)
    return {source: _lengths(sorted(found)) for source, found in tokens.items() if found}


def _lengths(tokens: Sequence[int]) -> Lengths:
    if len(tokens) == 1:
        return Lengths(tokens[0], tokens[0], tokens[0])
    tenths = quantiles(tokens, n=10, method="inclusive")
    return Lengths(round(tenths[4]), round(tenths[8]), tokens[-1])
