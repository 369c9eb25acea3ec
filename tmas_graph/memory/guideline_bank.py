"""The guideline bank: which strategies were tried, how often, and how each ended.

The list itself lives in the graph's state and only grows; these are the pure functions on it.
Names and essences never change, so that what is said again meets the same strategy again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tmas_graph.memory.dedup import shared
from tmas_graph.memory.guards import disagreement, statement
from tmas_graph.memory.similarity import same_statement
from tmas_graph.prompts import estimate_tokens
from tmas_graph.state import Strategy

_ALIKE = 1 / 3
"""Share of words in common from which on a difference between two essences is meant as one."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one line of the Guideline agent says of one strategy."""

    name: str = ""
    essence: str = ""
    attempts: frozenset[int] = frozenset()
    """Which attempts used it, by the numbers under which they were shown."""
    outcome: str = ""
    listed: int | None = None
    """Its number in the list, from 1 on, where the agent says that it is listed already."""


@dataclass(frozen=True, slots=True)
class Reports:
    """What one reply of the Guideline agent says."""

    said: tuple[Report, ...] = ()
    unknown: int = 0
    """How often a strategy or an attempt was named that was not shown."""


@dataclass(frozen=True, slots=True)
class Named:
    """A strategy as a prompt shows it."""

    strategy: Strategy
    number: int
    """Its place in the list, from 1 on; it stays as the list grows."""

    @property
    def id(self) -> str:
        """How agents name it."""
        return f"G{self.number}"

    @property
    def name(self) -> str:
        """Its name, on one line."""
        return _line(self.strategy.name)

    @property
    def essence(self) -> str:
        """Its main idea, on one line; empty where it was left out."""
        return _line(self.strategy.essence)

    @property
    def outcome(self) -> str:
        """How it ended, on one line; empty where it was left out."""
        return _line(self.strategy.outcome)

    @property
    def tries(self) -> int:
        """How many candidates used it."""
        return self.strategy.tries

    @property
    def best_score(self) -> float | None:
        """The best mean score of the candidates that used it."""
        return self.strategy.best_score


@dataclass(frozen=True, slots=True)
class Listed:
    """The list as a prompt shows it: no name is ever missing."""

    full: tuple[Named, ...] = ()
    """A line each, in order; some may lack essence and outcome."""
    folded: tuple[Named, ...] = ()
    """Those of which one line together gives the names, in order."""


@dataclass(frozen=True, slots=True)
class Shorter:
    """The list with one thing less."""

    kind: Literal["essences", "strategy lines"]
    """What was given up: an essence with its outcome, or a line of one's own."""
    listed: Listed
    tokens: int
    """About what it spares."""


def applied(
    known: Sequence[Strategy],
    reports: Iterable[Report],
    iteration: int,
    scores: Mapping[int, float | None],
    *,
    dedup: bool = True,
) -> tuple[Strategy, ...]:
    """The `known` strategies after what is said of `iteration`; to apply it again changes nothing.

    A strategy that is listed already, by the agent's word or by `same`, gains candidates, a best
    score and an outcome; its name and essence stay. Others are added at the end. `scores` has for
    each attempt, by the number it was shown under, its mean score. Without `dedup` a strategy is
    listed already only if its name and essence are, or if the agent says so.
    """
    bank = list(known)
    attempts: dict[int, frozenset[int]] = {}
    for report in reports:
        place = _place(report, bank, same if dedup else _equal)
        if place == len(bank):
            bank.append(Strategy(report.name, report.essence))
        attempts[place] = attempts.get(place, frozenset()) | report.attempts
        bank[place] = replace(bank[place], outcome=report.outcome or bank[place].outcome)
    for place, numbers in attempts.items():
        found = [scores[n] for n in sorted(numbers) if n in scores]
        bank[place] = _tried(bank[place], iteration, found)
    return tuple(bank)


def listed(strategies: Sequence[Strategy], tokens: int) -> Listed:
    """All `strategies`, for a prompt of about `tokens`; as much is given up as `shorter` must.

    No name is ever left out: a strategy that isn't listed would be tried again.
    """
    found = Listed(tuple(Named(s, number) for number, s in enumerate(strategies, 1)))
    left = tokens - sum(_line_tokens(one) for one in found.full)
    steps = shorter(found)
    while left < 0 and (step := next(steps, None)):
        found, left = step.listed, left + step.tokens
    return found


def shorter(listed: Listed) -> Iterator[Shorter]:
    """The list with one thing less each time, until one line of names is left.

    First essences and outcomes go, then lines, those of the least informative strategies before
    others. A strategy that was named in no late iteration is the least informative, for nobody
    is about to fall back into it; then one with a lower best score, which tempts less; then one
    that fewer candidates used; then the one that was listed first.
    """
    order = [one.number for one in sorted(listed.full, key=_information)]
    full, folded = {one.number: one for one in listed.full}, listed.folded
    for number in order:
        one = full[number]
        if one.essence or one.outcome:
            bare = replace(one, strategy=replace(one.strategy, essence="", outcome=""))
            full[number] = bare
            spared = _line_tokens(one) - _line_tokens(bare)
            yield Shorter("essences", Listed(tuple(full.values()), folded), spared)
    for number in order:
        one = full.pop(number)
        folded = tuple(sorted((*folded, one), key=lambda one: one.number))
        spared = _line_tokens(one) - estimate_tokens(one.name)
        yield Shorter("strategy lines", Listed(tuple(full.values()), folded), spared)


def same(one: Strategy, other: Strategy) -> bool:
    """Whether two strategies are one: their names say the same, and their essences don't object.

    When in doubt they are two. Two entries for one strategy cost some tokens; two strategies in
    one entry, and explorers no longer know that the second was tried. So "strong induction on n"
    is not "induction on n". Essences that are worded differently say nothing against; ones with
    other numbers or formulas, or alike but for a word that matters, do: a case analysis of even n
    is not one of odd n.
    """
    return same_statement(one.name, other.name) and not _object(one.essence, other.essence)


def _object(one: str, other: str) -> bool:
    if not one or not other:
        return False
    a, b = statement(one), statement(other)
    told = ((a.numbers, b.numbers), (a.formulas, b.formulas))
    if any(first and second and first != second for first, second in told):
        return True
    reason = disagreement(a, b)
    return reason not in (None, "numbers", "formulas") and shared(a, b) >= _ALIKE


def _equal(one: Strategy, other: Strategy) -> bool:
    return (one.name, one.essence) == (other.name, other.essence)


def _place(
    report: Report, bank: Sequence[Strategy], are_one: Callable[[Strategy, Strategy], bool]
) -> int:
    """Where in the bank the report's strategy is; at its end if it is a new one."""
    if report.listed is not None:
        return report.listed - 1
    told = Strategy(report.name, report.essence)
    return next((place for place, old in enumerate(bank) if are_one(old, told)), len(bank))


def _tried(strategy: Strategy, iteration: int, scores: Sequence[float | None]) -> Strategy:
    """`strategy`, that candidates with `scores` used in `iteration`, as far as they are named."""
    tried = dict(strategy.tried)
    tried[iteration] = max(tried.get(iteration, 0), len(scores))
    known = [s for s in (strategy.best_score, *scores) if s is not None]
    return replace(
        strategy, tried=tuple(sorted(tried.items())), best_score=max(known, default=None)
    )


def _information(one: Named) -> tuple[int, float, int, int]:
    score = -1.0 if one.best_score is None else one.best_score
    return max(one.strategy.iterations, default=-1), score, one.tries, one.number


def _line_tokens(one: Named) -> int:
    said = f"- {one.id} {one.name}: {one.essence} (tried 1 times, best score 0.00): {one.outcome}"
    return estimate_tokens(said)


def _line(text: str) -> str:
    """`text` on one line: a strategy can't begin a heading or an entry of its own in a prompt."""
    return " ".join(text.splitlines())
