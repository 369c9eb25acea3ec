"""Makes the rows of one thread from its result and its calls, and grades them.

Everything in a row comes from the thread's database and the gold answer, so that rows which were
lost are made anew without a model call.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from tmas_graph.answers.voting import group
from tmas_graph.call_store import SqliteCalls
from tmas_graph.evaluation.grading import graded
from tmas_graph.evaluation.judging import KeptJudge
from tmas_graph.evaluation.metrics import Status
from tmas_graph.evaluation.run_rows import GradedAttempt, Row, Selected
from tmas_graph.models.budget import Budget
from tmas_graph.models.call_rows import covered
from tmas_graph.models.endpoint import EndpointClient
from tmas_graph.prompts import Prompts
from tmas_graph.state import Attempt, Problem, Result
from tmas_graph.usage import Usage, summed

_UNGRADED: Mapping[str, Status] = {"truncated": "truncated", "failed": "error", "halted": "error"}
"""Status by how a candidate ended, of those that have no answer."""


@dataclass(frozen=True, slots=True)
class Grader:
    """What tells right answers from wrong ones."""

    problem: Problem
    gold: str | None
    """None: it isn't known, and no answer can be called right or wrong."""
    prompts: Prompts
    judge: EndpointClient | None = None
    budget: Budget = field(default_factory=Budget)
    """What the judge's calls are charged to."""

    async def status(self, answer: str, iteration: int, calls: SqliteCalls) -> Status:
        """Grade `answer`, which first stood in `iteration`.

        Raises:
            EndpointDown: the judge can't be reached.
        """
        if self.gold is None:
            return "ungraded"
        judge = None
        if self.judge is not None:
            judge = KeptJudge(self.judge, calls, self.budget, self.problem.id, iteration)
        grade = partial(graded, question=self.problem.question, prompts=self.prompts)
        return (await grade(rf"\boxed{{{answer}}}", self.gold, judge_by=judge)).status


@dataclass(slots=True)
class _Spent:
    """What one iteration cost, and when."""

    by_role: dict[str, Usage] = field(default_factory=dict)
    spans: list[tuple[float, float]] = field(default_factory=list)


async def rows_of(method: str, result: Result, grader: Grader, calls: SqliteCalls) -> list[Row]:
    """The rows of a thread that ended: one for each iteration.

    Raises:
        EndpointDown: the judge can't be reached.
        StorageError: the calls can't be read.
    """
    attempts = sorted(result.attempts, key=lambda a: (a.iteration, a.index))
    statuses = await _statuses(attempts, result, grader, calls)
    classes = await asyncio.to_thread(group, [a.answer for a in attempts])
    by_iteration: dict[int, list[GradedAttempt]] = {t: [] for t in range(result.iterations)}
    for attempt, name in zip(attempts, classes, strict=True):
        known = _UNGRADED.get(attempt.outcome, "unanswered")
        status = statuses[attempt.answer] if attempt.answer is not None else known
        row = GradedAttempt(
            index=attempt.index,
            mode=attempt.mode,
            outcome=attempt.outcome,
            answer=attempt.answer,
            score=attempt.score,
            status=status,
            answer_class=name,
        )
        by_iteration.setdefault(attempt.iteration, []).append(row)
    standings = {standing.iteration: standing for standing in result.standings}
    last = max([0, *by_iteration])
    spent = await _spent(calls, last)
    # Without a gold answer an empty one can't be called wrong either, or means would be off.
    none: Status = "unanswered" if grader.gold is not None else "ungraded"
    rows = []
    for t in range(last + 1):
        stands = standings.get(t)
        answer = stands.answer if stands else result.answer
        rows.append(
            Row(
                problem=grader.problem.id,
                method=method,
                iteration=t,
                attempts=tuple(by_iteration.get(t, ())),
                selected=Selected(
                    answer,
                    none if answer is None else statuses[answer],
                    stands.confidence if stands else result.confidence,
                ),
                spend=dict(sorted(spent[t].by_role.items())),
                depth=stands.depth if stands else 0,
                seconds=round(covered(sorted(spent[t].spans)), 3),
                stop=result.stop if t == last else None,
            )
        )
    return rows


async def failed_row(
    method: str, problem: str, cause: str, calls: SqliteCalls, *, graded: bool = True
) -> Row:
    """The one row of a thread that failed: all that it cost so far, and why it failed.

    It counts as wrong, if an answer would have been `graded`.
    """
    last, by_role, spans = 0, defaultdict[str, list[Usage]](list), list[tuple[float, float]]()
    async for call in calls.rows():
        last = max(last, call.iteration)
        by_role[call.role].append(call.usage)
        spans.append((call.began, call.ended))
    return Row(
        problem=problem,
        method=method,
        iteration=last,
        attempts=(),
        selected=Selected(None, "error" if graded else "ungraded", 0.0),
        spend={role: summed(usages) for role, usages in sorted(by_role.items())},
        seconds=round(covered(sorted(spans)), 3),
        outcome="failed",
        cause=cause,
    )


async def _statuses(
    attempts: list[Attempt], result: Result, grader: Grader, calls: SqliteCalls
) -> dict[str, Status]:
    """The status of each distinct answer."""
    first: dict[str, int] = {}
    for attempt in attempts:
        if attempt.answer is not None:
            first.setdefault(attempt.answer, attempt.iteration)
    given = [(standing.answer, standing.iteration) for standing in result.standings]
    for answer, iteration in [*given, (result.answer, max(0, result.iterations - 1))]:
        if answer is not None:
            first.setdefault(answer, iteration)
    return {a: await grader.status(a, iteration, calls) for a, iteration in first.items()}


async def _spent(calls: SqliteCalls, last: int) -> defaultdict[int, _Spent]:
    spent = defaultdict[int, _Spent](_Spent)
    async for call in calls.rows():
        of = spent[min(call.iteration, last)]
        of.by_role[call.role] = of.by_role.get(call.role, Usage()) + call.usage
        of.spans.append((call.began, call.ended))
    return spent
