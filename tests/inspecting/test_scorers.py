"""The grader as a scorer: verdicts are told apart, and figures are those of this package."""

from typing import Any

import pytest
from inspect_ai.log import EvalLog
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspecting.conftest import Scripted, run

from tmas_graph.evaluation import metrics
from tmas_graph.evaluation.metrics import Try
from tmas_graph.inspecting.scorers import LETTERS, accuracy, stderr, verdicts
from tmas_graph.inspecting.solvers import KEY, method


def score(log: EvalLog, name: str = "grader") -> Score:
    assert log.samples is not None
    [sample] = log.samples
    assert sample.scores is not None, sample.error
    return sample.scores[name]


def figures(log: EvalLog, name: str) -> dict[str, float]:
    assert log.results is not None
    [found] = [each for each in log.results.scores if each.name == name]
    return {key: metric.value for key, metric in found.metrics.items()}


@solver
def kept(answer: str | None, attempts: tuple[tuple[int, str | None], ...] = ()) -> Solver:
    """A method that came to `answer` by these candidates: for each an iteration and an answer."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        tried = [{"iteration": t, "answer": each} for t, each in attempts]
        state.store.set(KEY, {"answer": answer, "attempts": tried})
        return state

    return solve


@pytest.mark.parametrize(
    ("answer", "target", "letter", "status"),
    [
        (r"\frac{84}{2}", "42", "C", "correct"),
        ("41", "42", "I", "incorrect"),
        (None, "42", "N", "unanswered"),
        ("a function of your choice", "every prime", "U", "unsure"),
        ("42", "", "U", "unsure"),
    ],
)
def test_each_verdict_has_a_letter(
    answer: str | None, target: str, letter: str, status: str
) -> None:
    log = run(Scripted().model(), kept(answer), target=target)
    assert score(log).value == letter
    found = figures(log, "grader")
    assert found["accuracy"] == (letter == "C")
    assert {name: found[name] for name in LETTERS if found.get(name)} == {status: 1}


def test_the_output_of_any_other_solver_is_graded_too() -> None:
    log = run(Scripted().model(), generate())
    assert (score(log).value, score(log).answer) == ("C", "42")
    unscored = score(log, "candidates")
    assert unscored.value != unscored.value  # inspect's mark of what has no score


def test_the_judge_is_asked_where_rules_are_unsure() -> None:
    from inspect_ai import Task, eval  # noqa: PLC0415
    from inspect_ai.dataset import Sample  # noqa: PLC0415

    from tmas_graph.inspecting.scorers import grader  # noqa: PLC0415

    judge = Scripted(lambda role: r"The same thing. \boxed{yes}")
    task = Task(
        dataset=[Sample("Which?", target="every prime", id="p1")],
        solver=kept("all the primes there are"),
        scorer=grader(judge=True),
    )
    [log] = eval(
        task, model=Scripted().model(), model_roles={"judge": judge.model("judge")}, display="none"
    )
    assert score(log).value == "C"
    assert [config.temperature for config in judge.configs] == [0]


def test_candidates_give_pass_at_1_majority_and_oracle() -> None:
    attempts = ((0, "41"), (0, "42"), (0, None), (1, "84/2"), (1, "42"), (1, "41"))
    found = score(run(Scripted().model(), kept("42", attempts)), "candidates")
    assert found.value == pytest.approx(
        {"pass@1": 2 / 3, "pass@1 first": 1 / 3, "majority": 1.0, "oracle": 1.0}
    )
    assert found.metadata == {"pass@1": pytest.approx({"0": 1 / 3, "1": 2 / 3})}


def test_the_error_is_over_problems_not_over_epochs() -> None:
    letters = {"p1": "CCCI", "p2": "IIUN", "p3": "CICI"}
    scores = [
        SampleScore(score=Score(value=letter), sample_id=name)
        for name, many in letters.items()
        for letter in many
    ]
    tries: dict[str, Any] = {
        name: [Try("correct" if letter == "C" else "incorrect") for letter in many]
        for name, many in letters.items()
    }
    expected = metrics.pass_at(tries)
    assert accuracy()(scores) == pytest.approx(expected.value)
    assert stderr()(scores) == pytest.approx(expected.standard_error)
    assert verdicts()(scores) == {"correct": 5, "incorrect": 5, "unanswered": 1, "unsure": 1}


def test_epochs_reach_the_figures_as_they_were_graded() -> None:
    log = run(Scripted().model(), method("chain-of-thought"), epochs=2)
    assert log.results is not None
    [grading] = [each for each in log.results.scores if each.scorer == "grader"]
    assert {name: m.value for name, m in grading.metrics.items()} == {
        "accuracy": 1.0,
        "stderr": 0.0,
        "correct": 2.0,
        "incorrect": 0.0,
        "unanswered": 0.0,
        "unsure": 0.0,
    }
