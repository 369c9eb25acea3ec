"""Choose one answer from many: classes of equal answers, votes weighted by score.

Two answers are in one class if a comparison says `correct`, or if a chain of such comparisons
joins them (union-find); `unsure` and `error` never join. The comparison is given, so that this
file knows no grader; it is asked only for pairs that aren't joined yet. It may wait for a grading
process: from a coroutine, call `grouped` and `select` through `asyncio.to_thread`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tmas_graph.answers.verdict import Verdict

Equal = Callable[[str, str], Verdict]
How = Literal["majority", "weighted", "best"]
Classes = tuple[int | None, ...]
"""For each answer the place of the first one that equals it; None where there is no answer."""


@dataclass(frozen=True, slots=True)
class Vote:
    """One candidate's answer with its score."""

    answer: str | None
    """None where the candidate gave no answer: it is counted, and doesn't vote."""
    score: float | None
    """The mean score; unknown weighs nothing."""
    iteration: int
    index: int
    power: float = 1.0
    """Above 0. The higher, the more a high score counts beside many low ones."""

    @property
    def weight(self) -> float:
        """What the vote adds to its answer: its score to the power `power`."""
        return float((self.score or 0.0) ** self.power)


@dataclass(frozen=True, slots=True)
class AnswerClass:
    """Answers that are equal, as one choice."""

    number: int
    """Its name among the `Classes`."""
    answer: str
    """The spelling of the best vote."""
    weight: float
    votes: int
    iteration: int
    """The last iteration in which it was given."""
    index: int
    """The lowest candidate that gave it then."""
    best: float
    """The highest weight of one vote."""
    score: float | None
    """Mean of the known scores."""
    total: float
    """Sum of the known scores: the weight, were the power 1."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer that was chosen, with the classes it was chosen from, best first."""

    answer: str | None
    confidence: float
    """The chosen class's share: of the scores, or of the votes for a majority; 0 for none.

    Not of the weight: a power that lets high scores decide would make any choice look sure.
    """
    classes: tuple[AnswerClass, ...]
    votes: int
    unanswered: int

    @property
    def lead(self) -> AnswerClass | None:
        """The class that was chosen."""
        return self.classes[0] if self.classes else None


def select(
    votes: Iterable[Vote],
    equal: Equal,
    *,
    how: How = "weighted",
    iteration: int | None = None,
) -> Selection:
    """Choose among the votes of one `iteration`, or of all where it is None; see `chosen`."""
    pool = sorted(
        (vote for vote in votes if iteration in (None, vote.iteration)),
        key=lambda vote: (vote.iteration, vote.index),
    )
    return chosen(pool, grouped([vote.answer for vote in pool], equal), how=how)


def chosen(votes: Sequence[Vote], classes: Classes, *, how: How = "weighted") -> Selection:
    """Choose among votes whose classes are known.

    `majority` counts votes, `weighted` adds weights, `best` takes the single highest weight; where
    nothing has weight the two count votes, with a confidence of 0. Ties go to the later iteration,
    then to the higher best weight, then to the lower index: never to chance.
    """
    members = dict[int, list[Vote]]()
    for vote, number in zip(votes, classes, strict=True):
        if number is not None:
            members.setdefault(number, []).append(vote)
    summed = [_summed(number, given) for number, given in members.items()]
    weightless = not any(each.weight for each in summed)
    scale = max((each.weight for each in summed), default=0.0) or 1.0
    by: How = "majority" if weightless else how
    ranked = sorted(summed, key=lambda each: _rank(each, by, scale))
    shares = [_share(each, how) for each in ranked]
    total, count = sum(shares), sum(each.votes for each in ranked)
    confidence = shares[0] / total if total > 0 else 0.0
    answer = ranked[0].answer if ranked else None
    return Selection(answer, confidence, tuple(ranked), count, len(votes) - count)


def grouped(answers: Sequence[str | None], equal: Equal, known: Classes = ()) -> Classes:
    """Name the class of each answer; the first ones are `known`, and not compared again."""
    parent = [place if name is None else name for place, name in enumerate(known)]
    parent += range(len(parent), len(answers))
    spelt = dict[str, int]()
    for place, answer in enumerate(answers):
        if answer is None:
            continue
        if answer in spelt:
            _join(parent, place, spelt[answer])
            continue
        if place >= len(known):
            for other, head in spelt.items():
                if not _joined(parent, place, head) and equal(answer, other).outcome == "correct":
                    _join(parent, place, head)
        spelt[answer] = place
    return tuple(
        None if answer is None else _root(parent, place) for place, answer in enumerate(answers)
    )


def _root(parent: list[int], place: int) -> int:
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return place


def _joined(parent: list[int], one: int, other: int) -> bool:
    return _root(parent, one) == _root(parent, other)


def _join(parent: list[int], one: int, other: int) -> None:
    first, second = sorted((_root(parent, one), _root(parent, other)))
    parent[second] = first


def _summed(number: int, votes: Sequence[Vote]) -> AnswerClass:
    best = max(votes, key=lambda vote: (vote.weight, vote.iteration, -vote.index))
    scores = [vote.score for vote in votes if vote.score is not None]
    latest = max(vote.iteration for vote in votes)
    return AnswerClass(
        number=number,
        answer=best.answer or "",
        weight=sum(vote.weight for vote in votes),
        votes=len(votes),
        iteration=latest,
        index=min(vote.index for vote in votes if vote.iteration == latest),
        best=best.weight,
        score=sum(scores) / len(scores) if scores else None,
        total=sum(scores),
    )


def _share(each: AnswerClass, how: How) -> float:
    return float(each.votes) if how == "majority" else each.total


def _rank(each: AnswerClass, how: How, scale: float) -> tuple[float, int, float, int]:
    """Sort the best class first; weights that differ by a billionth of `scale` are equal."""
    if how == "majority":
        first = float(each.votes)
    else:
        first = round((each.best if how == "best" else each.weight) / scale, 9)
    return -first, -each.iteration, -each.best, each.index
