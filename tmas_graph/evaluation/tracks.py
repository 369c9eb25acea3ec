"""Where a method stands after each iteration: what it got right so far, and what that cost.

A problem that ended early keeps its last standing, at no further cost. One that failed counts as
wrong from the first iteration on, and is charged there with all it cost.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.majority import pool_of, share
from tmas_graph.evaluation.metrics import Figure, Status, Try
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.evaluation.uniting import MethodRun
from tmas_graph.usage import Usage, summed

GRADING = "judge"
"""The role that grades answers; what it spends is no part of a method."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where one problem stands after one iteration."""

    iteration: int
    tries: tuple[Try, ...]
    """Of this iteration."""
    pool: tuple[Try, ...]
    """Of all iterations so far."""
    selected: Status
    spent: Usage
    """So far, grading left out; so are the next two."""
    depth: int
    seconds: float
    failed: bool


@dataclass(frozen=True)
class Standing:
    """Where a method stands at all its problems after one iteration."""

    iteration: int
    points: Mapping[str, Point]

    @property
    def held(self) -> int:
        """At how many problems it had ended before, and keeps what it had."""
        return sum(p.iteration < self.iteration and not p.failed for p in self.points.values())

    @property
    def failed(self) -> int:
        """At how many problems no iteration came through."""
        return sum(point.failed for point in self.points.values())

    @cached_property
    def pass_at_1(self) -> Figure:
        """Share of right candidates, of this iteration's."""
        return metrics.pass_at({name: point.tries for name, point in self.points.items()})

    @cached_property
    def selected(self) -> Figure:
        """Share of right answers, of those that the method would give."""
        return metrics.selected({name: point.selected for name, point in self.points.items()})

    @cached_property
    def majority(self) -> Figure | None:
        """Share of right answers, were the commonest one of all candidates so far given.

        None where no problem has more than one candidate.
        """
        pools = {name: point.pool for name, point in self.points.items()}
        if max(map(len, pools.values())) < 2:
            return None
        values = {name: share(pool_of(pool), len(pool)) for name, pool in pools.items()}
        return metrics.figure(values, metrics.counts_of(pools))

    @cached_property
    def oracle(self) -> Figure:
        """Share of problems with a right candidate so far: what no method can be sure to find."""
        pools = {name: point.pool for name, point in self.points.items()}
        values = {name: float(any(t.correct for t in pool)) for name, pool in pools.items()}
        return metrics.figure(values, metrics.counts_of(pools))

    @property
    def candidates(self) -> int:
        """Candidates so far at a problem; the most, where problems differ."""
        return max(len(point.pool) for point in self.points.values())

    @cached_property
    def spent(self) -> Usage:
        """At all problems together, so far."""
        return summed(point.spent for point in self.points.values())

    @property
    def tokens(self) -> float:
        """Mean per problem, so far."""
        return self.spent.tokens / len(self.points)

    @property
    def depth(self) -> float:
        """Mean per problem of the calls that had to wait for one another, so far."""
        return fmean(point.depth for point in self.points.values())

    @property
    def seconds(self) -> float:
        """Mean wall time per problem, so far."""
        return fmean(point.seconds for point in self.points.values())


@dataclass(frozen=True)
class Track:
    """A method's standings over its iterations."""

    run: MethodRun

    @cached_property
    def _points(self) -> dict[str, list[Point]]:
        return {name: points_of(rows) for name, rows in self.run.rows.items()}

    @cached_property
    def iterations(self) -> range:
        """Those that some problem has reached."""
        return range(1 + max(points[-1].iteration for points in self._points.values()))

    @cached_property
    def _standings(self) -> dict[int, Standing]:
        return {t: Standing(t, self._points_at(t)) for t in self.iterations}

    def at(self, iteration: int) -> Standing:
        """Where it stands after `iteration`; after its last one nothing changes any more."""
        if iteration not in self._standings:
            self._standings[iteration] = Standing(iteration, self._points_at(iteration))
        return self._standings[iteration]

    def within(self, tokens: float) -> Standing | None:
        """Where it stands after the last iteration that fits into `tokens` a problem, if any."""
        fitting = [s for s in map(self.at, self.iterations) if s.tokens <= tokens * (1 + 1e-9)]
        return fitting[-1] if fitting else None

    def _points_at(self, iteration: int) -> dict[str, Point]:
        found = {}
        for name, points in self._points.items():
            place = bisect_right([point.iteration for point in points], iteration)
            found[name] = points[max(0, place - 1)]
        return found

    def notes(self) -> list[str]:
        """What a reader of its figures should know about its rows."""
        name, rows = self.run.name, self.run.rows
        missing = [problem for problem in self.run.setup.problems if problem not in rows]
        last = [many[-1] for many in rows.values()]
        open_ones = [r.problem for r in last if r.stop is None and r.outcome == "done"]
        failed = [r.problem for r in last if r.outcome == "failed"]
        late = [m[0].problem for m in rows.values() if m[0].iteration and m[0].outcome == "done"]
        end = self.iterations[-1]
        early = [r.problem for r in last if r.outcome == "done" and r.stop and r.iteration < end]
        found = (
            (missing, "no row yet, and isn't counted"),
            (open_ones, "rows without an end, and keeps its last standing"),
            (failed, "failed, and counts as wrong"),
            (late, "no row of its first iteration, and counts from its first row on"),
            (early, "ended early, and keeps its last standing"),
        )
        notes = [f"{name}: {listed(problems)}: {what}" for problems, what in found if problems]
        return [*notes, *([f"{name}: {cut}"] if (cut := self._cut_off()) else [])]

    def _cut_off(self) -> str:
        """How many candidates were, where most were: then it is a limit that was measured."""
        rows = [row for many in self.run.rows.values() for row in many]
        cut, every = sum(r.truncated for r in rows), sum(len(r.attempts) for r in rows)
        if 2 * cut <= every:
            return ""
        limit = self.run.settings.get("max_tokens")
        where = "the server's limit" if limit is None else f"max_tokens={limit}"
        return f"{cut} of {every} candidates were cut off at {where}, and count as wrong"


def points_of(rows: Sequence[Row]) -> list[Point]:
    """Cumulate the rows of one problem, in the order of iterations."""
    points, pool, spent = list[Point](), tuple[Try, ...](), Usage()
    depth, seconds = 0, 0.0
    for row in rows:
        tries = tuple(a.graded for a in row.attempts)
        tries = tries or (Try("error" if row.outcome == "failed" else "unanswered"),)
        pool += tries
        spent += summed(usage for role, usage in row.spend.items() if role != GRADING)
        depth, seconds = depth + row.depth, seconds + row.seconds
        alone = row.outcome == "failed" and not points
        points.append(
            Point(
                iteration=0 if alone else row.iteration,
                tries=tries,
                pool=pool,
                selected=row.selected.status,
                spent=spent,
                depth=depth,
                seconds=seconds,
                failed=alone,
            )
        )
    return points


def listed(names: Sequence[str], *, most: int = 5) -> str:
    """Count `names`, and give the first of them."""
    shown = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    return f"{len(names)} {'problem' if len(names) == 1 else 'problems'} ({shown})"
