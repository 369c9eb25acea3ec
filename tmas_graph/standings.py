"""What a run would answer after each of its iterations, from what is kept of its candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tmas_graph.answers.select import Classes, How, Selection, Vote, chosen
from tmas_graph.state import Attempt, Kind, Standing


@dataclass(frozen=True, slots=True)
class Rule:
    """How a method chooses its answer, or for proofs among whom it takes the best score."""

    how: How = "weighted"
    pool: Literal["all", "last", "first"] = "all"
    """Who votes: all candidates so far, those of the last iteration, or the first of these."""
    power: float = 1.0
    """To which the score of a vote is raised before it weighs."""


BY_SCORE = Rule()
"""Every candidate of every iteration votes with its score."""


def voters(rule: Rule, tried: Sequence[Attempt]) -> list[Attempt]:
    """Who of `tried` has a say: but by `all`, of the last iteration that came to anything."""
    if rule.pool == "all":
        return list(tried)
    last = max((a.iteration for a in tried if a.outcome == "finished"), default=0)
    pool = [a for a in tried if a.iteration == last]
    return [a for a in pool if a.outcome == "finished"][:1] if rule.pool == "first" else pool


def chosen_by(
    rule: Rule, tried: Sequence[Attempt], classes: Classes
) -> tuple[Selection, list[Attempt]]:
    """The choice among those of `tried` who vote by `rule`, and who of them stand behind it.

    The `classes` are those of `tried`, one for one, and may go on beyond them.
    """
    pool = set(voters(rule, tried))
    voting = [(a, number) for a, number in zip(tried, classes, strict=False) if a in pool]
    votes = [Vote(a.answer, a.score, a.iteration, a.index, rule.power) for a, _ in voting]
    choice = chosen(votes, tuple(number for _, number in voting), how=rule.how)
    lead = choice.lead.number if choice.lead else None
    return choice, [a for a, number in voting if lead is not None and number == lead]


def stood(
    kind: Kind,
    iteration: int,
    history: Sequence[Attempt],
    classes: Classes,
    *,
    rule: Rule = BY_SCORE,
    depth: int,
) -> Standing:
    """How things stood after `iteration` for a problem of this `kind`."""
    tried = [a for a in history if a.iteration <= iteration]
    choice, behind = chosen_by(rule, tried, classes)
    if kind == "proof":
        behind = voters(rule, tried)
    score = max((a.score for a in behind if a.score is not None), default=None)
    confidence = (score or 0.0) if kind == "proof" else choice.confidence
    return Standing(iteration, choice.answer, confidence, score, depth)
