"""Choose one answer from many: classes of equal answers, votes weighted by score.

Two answers are in one class if a comparison says `correct`, or if a chain of such comparisons
joins them (union-find). The comparison is given, so that this file knows no grader; `classes_of`
asks it only for pairs that aren't joined yet. It may wait for a worker: from a coroutine, call
`select` through `asyncio.to_thread`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tmas_graph.answers.verdict import Verdict

Equal = Callable[[str, str], Verdict]
How = Literal["majority", "weighted", "best"]


@dataclass(frozen=True, slots=True)
class Vote:
    """One candidate's answer with its score."""

    answer: str | None
    """None where the candidate gave no answer: it is counted, and doesn't vote."""
    weight: float
    """The mean score; unknown is for the caller to turn into a number."""
    iteration: int
    index: int


@dataclass(frozen=True, slots=True)
class AnswerClass:
    """Answers that are equal, as one choice."""

    answer: str
    """The spelling of the best vote."""
    weight: float
    votes: int
    iteration: int
    """The last iteration in which it was given."""
    best: float
    """The highest weight of one vote."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer that was chosen, with the classes it was chosen from, best first."""

    answer: str | None
    confidence: float
    """The chosen class's share: of the weight, or of the votes for a majority; 0 for none."""
    classes: tuple[AnswerClass, ...]
    votes: int
    unanswered: int


def select(
    votes: Iterable[Vote],
    equal: Equal,
    *,
    how: How = "weighted",
    iteration: int | None = None,
) -> Selection:
    """Choose among the votes of one `iteration`, or of all where it is None.

    `majority` counts votes, `weighted` adds weights, `best` takes the single highest weight. Ties
    go to the later iteration, then to the higher best weight, then to the more votes, then to the
    lower index: never to chance.
    """
    pool = sorted(
        (vote for vote in votes if iteration in (None, vote.iteration)),
        key=lambda vote: (vote.iteration, vote.index),
    )
    answered = [vote for vote in pool if vote.answer is not None]
    groups = classes_of([vote.answer or "" for vote in answered], equal)
    members = [[answered[place] for place in group] for group in groups]
    ranked = sorted(map(_summed, members), key=lambda each: _rank(each, how), reverse=True)
    shares = [_share(each, how) for each in ranked]
    total = sum(shares)
    confidence = shares[0] / total if total > 0 else 0.0
    answer = ranked[0].answer if ranked else None
    return Selection(answer, confidence, tuple(ranked), len(answered), len(pool) - len(answered))


def classes_of(answers: Sequence[str], equal: Equal) -> list[list[int]]:
    """Group the places of equal answers, in order of first appearance."""
    parent = list(range(len(answers)))
    spelt = dict[str, int]()
    heads = list[int]()
    for place, answer in enumerate(answers):
        if answer in spelt:
            parent[place] = spelt[answer]
            continue
        spelt[answer] = place
        for head in heads:
            root, other = _root(parent, place), _root(parent, head)
            if root != other and equal(answer, answers[head]).outcome == "correct":
                parent[max(root, other)] = min(root, other)
        heads.append(place)
    groups = dict[int, list[int]]()
    for place in range(len(answers)):
        groups.setdefault(_root(parent, place), []).append(place)
    return list(groups.values())


def _root(parent: list[int], place: int) -> int:
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return place


def _summed(votes: Sequence[Vote]) -> AnswerClass:
    best = max(votes, key=lambda vote: (vote.weight, vote.iteration, -vote.index))
    return AnswerClass(
        answer=best.answer or "",
        weight=sum(vote.weight for vote in votes),
        votes=len(votes),
        iteration=max(vote.iteration for vote in votes),
        best=best.weight,
    )


def _share(each: AnswerClass, how: How) -> float:
    return float(each.votes) if how == "majority" else each.weight


def _rank(each: AnswerClass, how: How) -> tuple[float, int, float, int]:
    first = each.best if how == "best" else _share(each, how)
    return round(first, 9), each.iteration, each.best, each.votes
