"""What a run tells of itself while it goes: plain values, for views and servers."""

from typing import Any

from tmas_graph.state import Rollout


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
