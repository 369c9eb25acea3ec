"""Chooses the answer with the best evidence from all iterations of a run."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tmas_graph.answers.equivalence import normalised
from tmas_graph.state import Attempt


@dataclass(frozen=True, slots=True)
class Choice:
    """The leading answer and what speaks for it."""

    answer: str | None
    """As the best rollout of its class wrote it."""
    share: float
    """Its part of all weight, in [0, 1]."""
    score: float | None
    """Mean over the known scores of the rollouts that gave it."""


def choose(attempts: Iterable[Attempt]) -> Choice:
    """The class of equal answers with the most weight; each attempt votes with its score.

    An attempt without an answer doesn't vote; one with an unknown score weighs nothing, but
    is chosen before none at all. Ties go to the later iteration, then to the higher score.
    """
    classes: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.answer is not None:
            classes[normalised(attempt.answer)].append(attempt)
    if not classes:
        return Choice(None, 0.0, None)
    total = sum(map(_weight, classes.values()))
    lead = max(classes.values(), key=_rank)
    best = max(lead, key=lambda a: (a.score or 0.0, a.iteration, -a.index))
    share = _weight(lead) / total if total else 0.0
    return Choice(best.answer, share, _mean(lead))


def same_answer(one: str | None, other: str | None) -> bool:
    """Whether both are answers, and equal ones."""
    return one is not None and other is not None and normalised(one) == normalised(other)


def _rank(members: Sequence[Attempt]) -> tuple[float, int, float, int]:
    latest = max(a.iteration for a in members)
    first = min(a.index for a in members if a.iteration == latest)
    return round(_weight(members), 9), latest, max(a.score or 0.0 for a in members), -first


def _weight(members: Sequence[Attempt]) -> float:
    return sum(a.score or 0.0 for a in members)


def _mean(members: Sequence[Attempt]) -> float | None:
    scores = [a.score for a in members if a.score is not None]
    return sum(scores) / len(scores) if scores else None
