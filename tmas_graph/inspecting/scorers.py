"""The grader as a scorer of inspect's, and what all candidates of a sample came to.

A verdict is a letter: `C` correct, `I` incorrect, `N` without an answer, `U` unsure, which is no
`I`. As everywhere here only `C` counts as right, and the others stay in the denominator and are
counted apart. Samples of several epochs aren't independent, so errors are over problems.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    mean,
    metric,
    scorer,
)
from inspect_ai.scorer import stderr as over_samples
from inspect_ai.solver import TaskState

from tmas_graph.answers.extract import answer_of
from tmas_graph.answers.verdict import unsure
from tmas_graph.answers.voting import group
from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.grading import Graded, graded
from tmas_graph.evaluation.majority import pool_of, share
from tmas_graph.evaluation.metrics import Status, Try
from tmas_graph.inspecting.asking import Judge
from tmas_graph.inspecting.solvers import KEY

LETTERS: dict[Status, str] = {
    "correct": "C",
    "incorrect": "I",
    "unanswered": "N",
    "truncated": "N",
    "unsure": "U",
    "error": "U",
}
"""The value of a score by status."""
_STATUSES: dict[Value, Status] = {
    "C": "correct",
    "I": "incorrect",
    "N": "unanswered",
    "U": "unsure",
}


@metric(scores="unreduced")
def accuracy() -> Metric:
    """Share of right answers, mean over problems."""

    def compute(scores: list[SampleScore]) -> Value:
        return metrics.pass_at(_tries(scores)).value

    return compute


@metric(scores="unreduced")
def stderr() -> Metric:
    """Standard error of the accuracy, over problems."""

    def compute(scores: list[SampleScore]) -> Value:
        return metrics.pass_at(_tries(scores)).standard_error or 0.0

    return compute


@metric(scores="unreduced")
def verdicts() -> Metric:
    """How many answers were right, wrong, unsure and missing."""

    def compute(scores: list[SampleScore]) -> Value:
        counts = Counter(_STATUSES.get(score.score.value, "unsure") for score in scores)
        return {status: counts[status] for status in _STATUSES.values()}

    return compute


def _tries(scores: Sequence[SampleScore]) -> dict[str, list[Try]]:
    tries: dict[str, list[Try]] = {}
    for place, each in enumerate(scores):
        name = str(place if each.sample_id is None else each.sample_id)
        tries.setdefault(name, []).append(Try(_STATUSES.get(each.score.value, "unsure")))
    return tries


@scorer(metrics=[accuracy(), stderr(), verdicts()])
def grader(judge: bool = False) -> Scorer:
    """Grade the answer by rules.

    Args:
        judge: ask a model (`--model-role judge=…`, else the eval's) where the rules are unsure.
    """

    async def score(state: TaskState, target: Target) -> Score:
        answer, given = _answer(state)
        if not given:
            return Score(value=LETTERS["unanswered"], explanation="There is no answer.")
        done = await _graded(given, state, target, judge)
        about = f"{done.verdict.outcome}: {done.verdict.cause}"
        if done.judgement:
            about += f"; the judge: {done.judgement.opinion}. {done.judgement.reason}"
        status = done.status
        return Score(
            value=LETTERS[status], answer=answer, explanation=about, metadata={"status": status}
        )

    return score


@scorer(metrics={"*": [mean(), over_samples()]})
def candidates() -> Scorer:
    """Grade all candidates of a method by rules: Pass@1, majority, oracle.

    Pass@1 is of the last iteration, `pass@1 first` of the first one; the others are of all.
    """

    async def score(state: TaskState, target: Target) -> Score:
        attempts = (state.store.get(KEY) or {}).get("attempts") or []
        if not attempts:
            return Score.unscored(explanation="The solver kept no candidates.")
        tries = await _candidates(attempts, state, target)
        pool = [one for many in tries.values() for one in many]
        value = {
            "pass@1": _share(tries[max(tries)]),
            "pass@1 first": _share(tries[min(tries)]),
            "majority": share(pool_of(pool), len(pool)),
            "oracle": float(any(one.correct for one in pool)),
        }
        by_iteration = {str(t): _share(many) for t, many in tries.items()}
        return Score(value=value, metadata={"pass@1": by_iteration})

    return score


async def _candidates(
    attempts: Sequence[dict[str, Any]], state: TaskState, target: Target
) -> dict[int, list[Try]]:
    """The graded candidates of each iteration; equal answers are graded once."""
    answers = [attempt["answer"] for attempt in attempts]
    statuses: dict[str | None, Status] = {None: "unanswered"}
    for answer in dict.fromkeys(answers):
        if answer is not None:
            statuses[answer] = (await _graded(boxed(answer), state, target, False)).status
    tries: dict[int, list[Try]] = {}
    classes = await asyncio.to_thread(group, answers)
    for attempt, number in zip(attempts, classes, strict=True):
        one = Try(statuses[attempt["answer"]], number)
        tries.setdefault(attempt["iteration"], []).append(one)
    return tries


def _share(tries: Sequence[Try]) -> float:
    return sum(one.correct for one in tries) / len(tries)


async def _graded(given: str, state: TaskState, target: Target, judge: bool) -> Graded:
    if not target.text.strip():
        return Graded(unsure("the reference answer isn't known"))
    asked = Judge(str(state.sample_id)) if judge else None
    return await graded(given, target.text, question=state.input_text, judge_by=asked)


def _answer(state: TaskState) -> tuple[str | None, str]:
    """The answer, and the text that is graded; of another's solver both come from its output."""
    kept = state.store.get(KEY)
    if kept is not None:
        answer = kept["answer"]
        return answer, "" if answer is None else boxed(answer)
    text = state.output.completion
    return answer_of(text), text


def boxed(answer: str) -> str:
    """`answer` as a solution ends."""
    return rf"\boxed{{{answer}}}"
