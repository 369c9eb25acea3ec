"""Is the strategy of a solution new? Similarity first, a judge for the doubtful band.

Similarity is cheap and sure at its ends: what is as good as the wording of a listed strategy is
listed, what has nothing in common with any is novel. Between them, and wherever a strategy is
named of which nothing is seen in the solution, a judge decides; without one nothing is known, and
nothing is earned.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from tmas_graph.grpo.hacks import final_text, names_without_use
from tmas_graph.grpo.knobs import Knobs
from tmas_graph.grpo.rewards import Novelty

Similarity = Callable[[str, str], float]
"""(solution, listed strategy) to likeness in [0, 1]; called in a thread."""
How = Literal["asked", "known", "capped", "refused"]
"""The judge was asked, or earlier in the run, or wasn't any more, or refused the question."""


class Verdict(NamedTuple):
    """What a judge says of a solution."""

    novelty: Novelty
    reply: str = ""
    """In its own words."""
    how: How = "asked"


Judge = Callable[[str, Sequence[str]], Awaitable[Verdict]]
"""(solution, listed strategies) to a verdict."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of the strategy of a completion."""

    novelty: Novelty = "unknown"
    likeness: float | None = None
    """To the listed strategy that it is most like; None: it wasn't compared."""
    verdict: Verdict | None = None
    """The judge's; None: similarity was enough, or there is no judge."""


class JudgeSettings(Knobs):
    """A model at an OpenAI-compatible endpoint that tells whether a strategy is listed."""

    base_url: str = Field(min_length=1)
    """Its URL, with /v1."""
    model: str = Field(min_length=1)
    """Its name there."""
    key_variable: str = ""
    """The environment variable that holds its API key; empty: it takes none."""
    timeout_seconds: float = Field(120.0, gt=0)
    """For one reply."""
    max_calls: int = Field(100_000, ge=0)
    """Most questions of a run; after them the doubtful stays unknown."""
    max_tokens: int = Field(2048, ge=1)
    """Longest reply."""
    concurrency: int = Field(16, ge=1)
    """Questions in flight."""


class NoveltySettings(Knobs):
    """Where similarity alone decides, and who does elsewhere."""

    novel_below: float = Field(0.3, ge=0, le=1)
    """A solution less like every listed strategy than this is novel."""
    listed_above: float = Field(0.8, ge=0, le=1)
    """A solution more like some listed strategy than this is listed."""
    min_words: int = Field(5, ge=0)
    """A solution of fewer words carries no strategy out."""
    judge: JudgeSettings | None = None
    """Decides between the two; none: nothing is known there."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.novel_below > self.listed_above:
            raise ValueError(
                f"novel_below is {self.novel_below}, above listed_above ({self.listed_above}). "
                "Make it the lower one"
            )
        return self


async def novelty(
    solution: str,
    listed: Sequence[str],
    similarity: Similarity,
    judge: Judge | None = None,
    settings: NoveltySettings | None = None,
) -> Finding:
    """Find out whether `solution` uses a strategy that isn't in `listed`."""
    spoken = final_text(solution)
    found = await asyncio.to_thread(
        at_first_sight, spoken, listed, similarity, settings or NoveltySettings()
    )
    if found.novelty != "unknown" or judge is None:
        return found
    verdict = await judge(spoken, listed)
    return Finding(verdict.novelty, found.likeness, verdict)


def at_first_sight(
    spoken: str, listed: Sequence[str], similarity: Similarity, settings: NoveltySettings
) -> Finding:
    """Say what can be told without a judge of a solution without its thinking."""
    if len(spoken.split()) < settings.min_words:
        return Finding("unused")
    likeness = max((similarity(spoken, strategy) for strategy in listed), default=0.0)
    if likeness > settings.listed_above:
        return Finding("listed", likeness)
    if likeness < settings.novel_below and not names_without_use(spoken):
        return Finding("novel", likeness)
    return Finding("unknown", likeness)
