import pytest

from tmas_graph.agents.solution import shown, written
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import estimate_tokens
from tmas_graph.state import (
    Problem,
    Rollout,
    Verification,
)

ANSWER, PROOF = Problem("What is 6·7?"), Problem("Show it.", kind="proof")
BEGUN = Rollout(2, 3, "exploit")


def rollout(index: int, score: float | None, words: int = 30) -> Rollout:
    return Rollout(
        1,
        index,
        "exploit",
        solution=f"solution {index} " + "word " * words,
        verifications=(Verification("", score),),
        summary=f"summary {index}",
        outcome="finished",
    )


def test_a_whole_reply_is_a_solution_with_its_answer() -> None:
    done = written(BEGUN, Reply("So \\boxed{\\frac{1}{2}}."), ANSWER)
    assert (done.solution, done.answer, done.outcome) == (
        "So \\boxed{\\frac{1}{2}}.",
        "\\frac{1}{2}",
        "open",
    )


def test_a_proof_has_no_answer() -> None:
    done = written(BEGUN, Reply("Thus \\boxed{7}."), PROOF)
    assert (done.solution, done.answer) == ("Thus \\boxed{7}.", None)


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("length", "truncated"), ("abort", "truncated"), ("content_filter", "filtered")],
)
def test_a_cut_reply_is_no_solution(reason: str, outcome: str) -> None:
    done = written(BEGUN, Reply("So \\boxed{42}", "", reason), ANSWER)
    assert (done.solution, done.answer, done.outcome) == ("", None, outcome)


def test_a_refusal_is_no_solution_and_its_words_are_the_cause() -> None:
    done = written(BEGUN, Reply("", refusal="I can't help with that."), ANSWER)
    assert (done.outcome, done.cause) == ("refused", "I can't help with that.")


def test_an_empty_reply_is_no_solution() -> None:
    done = written(BEGUN, Reply(" ", "thought long \\boxed{42}"), ANSWER)
    assert (done.solution, done.answer, done.outcome) == ("", None, "empty")


def test_rollouts_are_shown_best_first_and_unknown_scores_last() -> None:
    rollouts = [rollout(0, 0.0), rollout(1, None), rollout(2, 1.0), rollout(3, 0.5)]
    assert [r.index for r in shown(rollouts, 10_000)] == [2, 3, 0, 1]


def test_only_finished_rollouts_are_shown() -> None:
    rollouts = [
        Rollout(1, 0, "exploit", outcome="truncated"),
        Rollout(1, 1, "exploit", solution="x", outcome="failed"),
        rollout(2, 0.0),
    ]
    assert [r.index for r in shown(rollouts, 10_000)] == [2]


def test_the_worst_solutions_go_first_and_their_summaries_stay() -> None:
    rollouts = [rollout(0, 0.0), rollout(1, 1.0), rollout(2, 0.5)]
    room = sum(estimate_tokens(r.summary) for r in rollouts)
    one = estimate_tokens(rollouts[0].solution)
    for count in range(4):
        fitted = shown(rollouts, room + count * one)
        assert [bool(r.solution) for r in fitted] == [i < count for i in range(3)]
        assert [r.summary for r in fitted] == ["summary 1", "summary 2", "summary 0"]
        assert [bool(r.solution) for r in shown(rollouts, room + count * one - 1)] == [
            i < count - 1 for i in range(3)
        ]
