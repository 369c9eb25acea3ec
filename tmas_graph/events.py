"""What a run tells of itself while it goes: plain values, for views and servers."""

from collections.abc import Iterable, Sequence
from typing import Any

from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Changes
from tmas_graph.state import Rollout, Standing, Stop, Strategy
from tmas_graph.usage import Usage


def of_candidate(kind: str, candidate: Rollout) -> dict[str, Any]:
    """What a live view needs to know of a candidate: no texts, plain values."""
    spent = candidate.spent
    return {
        "event": kind,
        "iteration": candidate.iteration,
        "index": candidate.index,
        "mode": candidate.mode,
        "outcome": candidate.outcome,
        "answer": candidate.answer,
        "solved": bool(candidate.solution),
        "scores": [v.score for v in candidate.verifications],
        "cause": candidate.cause,
        "calls": spent.calls,
        "tokens": spent.tokens,
        "cost": spent.cost,
    }


def of_changes(iteration: int, fresh: Iterable[Item], changes: Changes) -> dict[str, Any]:
    """What became of the experience bank: the `fresh` items, and how many others were judged."""
    return {
        "event": "experience",
        "iteration": iteration,
        "added": [item.text for item in fresh],
        "supported": len(changes.supported),
        "refuted": len(changes.refuted),
        "corrected": len(changes.corrected),
        "unknown": changes.unknown,
    }


def of_borrowed(iteration: int, borrowed: Sequence[object]) -> dict[str, Any]:
    """How many items of other problems the next iteration is shown."""
    return {"event": "borrowed", "iteration": iteration, "count": len(borrowed)}


def of_strategies(
    iteration: int, known: Sequence[Strategy], bank: Sequence[Strategy], unknown: int
) -> dict[str, Any]:
    """What became of the guideline bank, that held the `known` strategies and holds `bank` now."""
    repeated = [s.name for s in bank[: len(known)] if iteration in s.iterations]
    return {
        "event": "guideline",
        "iteration": iteration,
        "added": [s.name for s in bank[len(known) :]],
        "repeated": repeated,
        "unknown": unknown,
    }


def of_standing(stands: Standing, spent: Usage, stop: Stop | None = None) -> dict[str, Any]:
    """What ends an iteration: who leads, and what was spent until now."""
    return {
        "event": "standing",
        "iteration": stands.iteration,
        "answer": stands.answer,
        "share": stands.confidence,
        "score": stands.score,
        "calls": spent.calls,
        "tokens": spent.tokens,
        "cost": spent.cost,
        "stop": stop,
    }
