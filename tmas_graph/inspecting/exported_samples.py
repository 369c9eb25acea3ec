"""The rows of one problem as a sample of inspect's: scores, usage, error, and a transcript."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from inspect_ai.event import Event, InfoEvent, SpanBeginEvent, SpanEndEvent
from inspect_ai.log import EvalError, EvalSample
from inspect_ai.model import ModelOutput, ModelUsage
from inspect_ai.scorer import Score
from pydantic import JsonValue

from tmas_graph.evaluation.run_rows import Row, dump
from tmas_graph.evaluation.tracks import Point
from tmas_graph.inspecting.scorers import LETTERS, boxed
from tmas_graph.inspecting.usages import theirs
from tmas_graph.usage import Usage, summed


@dataclass(frozen=True, slots=True)
class Solved:
    """A problem, and what a method made of it."""

    problem: str
    """Its id."""
    question: str
    gold: str
    rows: Sequence[Row]
    """In the order of iterations; at least one."""
    points: Sequence[Point]
    """Where it stands after each iteration of the run, those after its last one included."""
    model: str
    began: datetime
    """When the run was started: when each call was made, rows don't say."""

    def sample(self) -> EvalSample:
        """Make the sample."""
        last = self.rows[-1]
        answer = last.selected.answer
        output = ModelOutput.from_content(self.model, "" if answer is None else boxed(answer))
        spent = summed(row.spent for row in self.rows)
        return EvalSample(
            id=self.problem,
            epoch=1,
            input=self.question,
            target=self.gold,
            output=output,
            messages=[choice.message for choice in output.choices],
            scores=self._scores(),
            metadata={"problem": self.problem, "stop": last.stop, "calls": spent.calls},
            store={"tmas": {"rows": [_plain(row) for row in self.rows]}},
            events=list(self._events()),
            model_usage={self.model: theirs(spent)},
            role_usage=by_role(self.rows),
            total_time=sum(row.seconds for row in self.rows),
            started_at=self.began.isoformat(timespec="seconds"),
            completed_at=self.began.isoformat(timespec="seconds"),
            error=_error(last),
        )

    def _scores(self) -> dict[str, Score]:
        """Its scores; none where the right answer isn't known."""
        last = self.rows[-1]
        if not last.is_graded:
            return {}
        about = {"status": last.selected.status, "confidence": last.selected.confidence}
        at = dict(enumerate(self.points))
        passed = {str(t): fmean(one.correct for one in p.tries) for t, p in at.items()}
        chosen = {str(t): float(p.selected == "correct") for t, p in at.items()}
        return {
            "grader": Score(
                value=LETTERS[last.selected.status],
                answer=last.selected.answer,
                explanation=last.cause or last.selected.status,
                metadata=about,
            ),
            "pass@1": Score(value=dict(passed)),
            "selected": Score(value=dict(chosen)),
        }

    def _events(self) -> Iterator[Event]:
        for row in self.rows:
            span, when = f"{self.problem}-{row.iteration}", self.began
            name = f"iteration {row.iteration}"
            yield SpanBeginEvent(
                id=span, name=name, type="iteration", span_id=span, timestamp=when, working_start=0
            )
            yield InfoEvent(
                source="tmas", data=_plain(row), span_id=span, timestamp=when, working_start=0
            )
            yield SpanEndEvent(id=span, span_id=span, timestamp=when, working_start=0)


def by_role(rows: Sequence[Row]) -> dict[str, ModelUsage]:
    """What each role spent in all `rows`."""
    roles = dict.fromkeys(role for row in rows for role in row.spend)
    return {role: theirs(summed(row.spend.get(role, Usage()) for row in rows)) for role in roles}


def _plain(row: Row) -> JsonValue:
    """As it stands in the file of rows."""
    plain: JsonValue = json.loads(dump(row))
    return plain


def _error(row: Row) -> EvalError | None:
    if row.outcome != "failed":
        return None
    return EvalError(message=row.cause or "It failed.", traceback="", traceback_ansi="")
