from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from tmas_graph.grpo.novelty import Finding, NoveltySettings, Verdict, novelty
from tmas_graph.grpo.rewards import Novelty

pytestmark = pytest.mark.anyio
LISTED = ("Add the numbers one by one", "Pair the terms")
SOLUTION = r"The triangle of dots is half of a rectangle of 10 by 11. \boxed{55}"
NAMED = "Strategy: projective duality\nAdding the ten numbers one by one gives 55."


class Asked:
    """A judge that says the same each time, and how often it was asked."""

    def __init__(self, verdict: Novelty) -> None:
        self.verdict, self.count = verdict, 0

    async def __call__(self, solution: str, listed: Sequence[str]) -> Verdict:
        self.count += 1
        assert listed == LISTED
        return Verdict(self.verdict, "so it is")


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
async def test_a_judge_is_asked_in_the_doubtful_band_alone(
    likeness: float, verdict: Novelty, asked: int
) -> None:
    judge = Asked("listed")
    found = await novelty(SOLUTION, LISTED, like(likeness), judge)
    assert (found.novelty, found.likeness) == (verdict, likeness)
    assert judge.count == asked
    assert found.verdict == (Verdict("listed", "so it is") if asked else None)


async def test_what_nobody_judges_is_unknown() -> None:
    assert await novelty(SOLUTION, LISTED, like(0.5)) == Finding("unknown", 0.5)


@pytest.mark.parametrize("verdict", ["novel", "unused", "unreadable", "unknown"])
async def test_a_strategy_that_is_named_and_not_seen_goes_to_the_judge(verdict: Novelty) -> None:
    judge = Asked(verdict)
    assert (await novelty(NAMED, LISTED, like(0.0), judge)).novelty == verdict
    assert judge.count == 1
    assert (await novelty(NAMED, LISTED, like(0.0))).novelty == "unknown"


@pytest.mark.parametrize("text", ["", "projective duality", "<think>a long one, but no more of it"])
async def test_a_solution_of_a_few_words_uses_no_strategy(text: str) -> None:
    assert await novelty(text, LISTED, like(0.0), Asked("novel")) == Finding("unused")


async def test_the_thinking_is_not_judged() -> None:
    seen = list[str]()

    def similarity(solution: str, _strategy: str) -> float:
        seen.append(solution)
        return 0.0

    await novelty(f"<think>one by one</think> {SOLUTION}", LISTED, similarity)
    assert set(seen) == {SOLUTION}


def test_the_band_must_be_in_order() -> None:
    with pytest.raises(ValidationError, match=r"novel_below is 0.9, above listed_above \(0.5\)"):
        NoveltySettings(novel_below=0.9, listed_above=0.5)
