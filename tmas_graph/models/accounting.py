"""What requests cost: as the server counted it, or estimated where it didn't."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tmas_graph.models.replies import Reply
from tmas_graph.usage import Usage

_LONGEST_TOKEN = 8
"""Bytes: a text has hardly fewer tokens than an eighth of its bytes."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of an answer apart from what the server says that it cost."""

    prompt_tokens: int
    """Estimated or counted before it was sent."""
    deltas: int
    """Pieces in which the replies were streamed: no more than their tokens; 0 if they weren't."""
    estimated: int
    """About how many tokens the replies have."""


def accounted(said: dict[str, Any], measured: Measured, replies: Sequence[Reply]) -> Usage:
    """Usage of one answered request, from what the server `said`.

    Some servers count the first of several replies only, others say nothing: what is known to be
    too little is raised, and the difference counts as estimated.
    """
    prompt, completion = _whole(said, "prompt_tokens"), _whole(said, "completion_tokens")
    size = sum(len(r.text.encode()) + len(r.thinking.encode()) for r in replies)
    estimated = 0
    if not said or (not prompt and not completion):
        prompt, completion = measured.prompt_tokens, max(measured.deltas, measured.estimated)
        estimated = prompt + completion
    elif completion < (least := max(measured.deltas, size // _LONGEST_TOKEN)):
        least = max(least, measured.estimated) if len(replies) > 1 else least
        completion, estimated = least, least - completion
    details = said.get("completion_tokens_details"), said.get("prompt_tokens_details")
    thought, cached = (d if isinstance(d, dict) else {} for d in details)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=min(_whole(thought, "reasoning_tokens"), completion),
        cached_tokens=min(_whole(cached, "cached_tokens"), prompt),
        estimated_tokens=estimated,
    )


def broken(prompt_tokens: int, received_tokens: int) -> Usage:
    """Usage of a request that was given up while the server worked on it: all of it estimated."""
    total = prompt_tokens + received_tokens
    return Usage(1, prompt_tokens, received_tokens, estimated_tokens=total)


def _whole(given: dict[str, Any], name: str) -> int:
    value = given.get(name)
    return max(0, int(value)) if isinstance(value, int | float) else 0
