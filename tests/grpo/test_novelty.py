from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from tmas_graph.grpo.novelty import NoveltySettings, novelty
from tmas_graph.grpo.rewards import Novelty

LISTED = ("Add the numbers one by one", "Pair the terms")
SOLUTION = r"The triangle of dots is half of a rectangle of 10 by 11. \boxed{55}"
NAMED = "Strategy: projective duality\nAdding the ten numbers one by one gives 55."


class Asked:
    """A judge that says the same each time, and how often it was asked."""

    def __init__(self, verdict: Novelty) -> None:
        self.verdict, self.count = verdict, 0

    def __call__(self, solution: str, listed: Sequence[str]) -> Novelty:
        self.count += 1
        assert listed == LISTED
        return self.verdict


def like(value: float) -> object:
    """A similarity that is `value` for the second strategy and 0 for others."""
    return lambda _solution, strategy: value if strategy == LISTED[1] else 0.0


@pytest.mark.parametrize(
    ("likeness", "verdict", "asked"),
    [
        (0.1, "novel", 0),
        (0.29, "novel", 0),
        (0.3, "listed", 1),
        (0.8, "listed", 1),
        (0.81, "listed", 0),
    ],
)
def test_a_judge_is_asked_in_the_doubtful_band_alone(
    likeness: float, verdict: Novelty, asked: int
) -> None:
    judge = Asked("listed")
    assert novelty(SOLUTION, LISTED, like(likeness), judge) == verdict
    assert judge.count == asked


def test_what_nobody_judges_is_unknown() -> None:
    assert novelty(SOLUTION, LISTED, like(0.5)) == "unknown"


@pytest.mark.parametrize("verdict", ["novel", "unused", "unknown"])
def test_a_strategy_that_is_named_and_not_seen_goes_to_the_judge(verdict: Novelty) -> None:
    judge = Asked(verdict)
    assert novelty(NAMED, LISTED, like(0.0), judge) == verdict
    assert judge.count == 1
    assert novelty(NAMED, LISTED, like(0.0)) == "unknown"


@pytest.mark.parametrize("text", ["", "projective duality", "<think>a long one, but no more of it"])
def test_a_solution_of_a_few_words_uses_no_strategy(text: str) -> None:
    assert novelty(text, LISTED, like(0.0), Asked("novel")) == "unused"


def test_the_thinking_is_not_judged() -> None:
    seen = list[str]()

    def similarity(solution: str, _strategy: str) -> float:
        seen.append(solution)
        return 0.0

    novelty(f"<think>one by one</think> {SOLUTION}", LISTED, similarity)
    assert set(seen) == {SOLUTION}


def test_the_band_must_be_in_order() -> None:
    with pytest.raises(ValidationError, match=r"novel_below is 0.9, above listed_above \(0.5\)"):
        NoveltySettings(novel_below=0.9, listed_above=0.5)
