"""Is the strategy of a solution new? Similarity first, a judge for the doubtful band.

Similarity is cheap and sure at its ends: what is as good as the wording of a listed strategy is
listed, what has nothing in common with any is novel. Between them, and wherever a strategy is
named of which nothing is seen in the solution, a judge decides; without one nothing is known, and
nothing is earned.
"""

from collections.abc import Callable, Sequence
from typing import Self

from pydantic import Field, model_validator

from tmas_graph.grpo.hacks import final_text, names_without_use
from tmas_graph.grpo.knobs import Knobs
from tmas_graph.grpo.rewards import Novelty

Similarity = Callable[[str, str], float]
"""(solution, listed strategy) to likeness in [0, 1]."""
Judge = Callable[[str, Sequence[str]], Novelty]
"""(solution, listed strategies) to a verdict; "unknown" where the judge's reply can't be read."""


class NoveltySettings(Knobs):
    """Where similarity alone decides."""

    novel_below: float = Field(0.3, ge=0, le=1)
    """A solution less like every listed strategy than this is novel."""
    listed_above: float = Field(0.8, ge=0, le=1)
    """A solution more like some listed strategy than this is listed."""
    min_words: int = Field(5, ge=0)
    """A solution of fewer words carries no strategy out."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.novel_below > self.listed_above:
            raise ValueError(
                f"novel_below is {self.novel_below}, above listed_above ({self.listed_above}). "
                "Make it the lower one"
            )
        return self


def novelty(
    solution: str,
    listed: Sequence[str],
    similarity: Similarity,
    judge: Judge | None = None,
    settings: NoveltySettings | None = None,
) -> Novelty:
    """Say whether `solution` uses a strategy that isn't in `listed`."""
    settings = settings or NoveltySettings()
    spoken = final_text(solution)
    if len(spoken.split()) < settings.min_words:
        return "unused"
    likeness = max((similarity(spoken, strategy) for strategy in listed), default=0.0)
    if likeness > settings.listed_above:
        return "listed"
    if likeness < settings.novel_below and not names_without_use(spoken):
        return "novel"
    return judge(spoken, listed) if judge else "unknown"
