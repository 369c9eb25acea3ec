"""What requests cost: as the server counted it, or estimated where it didn't."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tmas_graph.models.completion import Completion
from tmas_graph.models.context import Fitted, Window
from tmas_graph.usage import Usage

_MOST_TOKENS = 10**10
"""Of one request: who says that it had more says nothing."""
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
    size: int
    """Their bytes, thinking included."""
    replies: int

    @property
    def least(self) -> int:
        """Tokens of the replies that no sound count is below.

        Of several replies, some servers count the first only.
        """
        streamed = self.deltas if self.replies > 1 else 0
        return max(streamed, self.size // _LONGEST_TOKEN)


def accounted(said: Mapping[str, Any], measured: Measured) -> Usage:
    """Usage of one answered request, from what the server `said`.

    What it left out, or what is known to be too little, is estimated, and counts as such.
    """
    prompt, completion = _whole(said, "prompt_tokens"), _whole(said, "completion_tokens")
    guess, missing = max(measured.deltas, measured.estimated if measured.size else 0), 0
    if not prompt:
        prompt = missing = measured.prompt_tokens
    if completion < measured.least or not completion:
        missing += max(0, guess - completion)
        completion = max(guess, completion)
    return Usage(
        calls=1,
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=min(_detail(said, "completion", "reasoning_tokens"), completion),
        cached_tokens=min(_detail(said, "prompt", "cached_tokens"), prompt),
        estimated_tokens=missing,
    )


def answered(completion: Completion, fitted: Fitted, window: Window) -> Usage:
    """Usage of a request that was answered; `window` learns from what the server counted."""
    said = completion.usage
    window.learn(fitted.prompt.messages, _whole(said, "prompt_tokens"))
    size, replies = completion.received, len(completion.choices)
    measured = Measured(fitted.tokens, completion.deltas, window.estimate(size), size, replies)
    return accounted(said, measured)


def broken(completion: Completion, fitted: Fitted, window: Window) -> Usage:
    """Usage of a request that was given up while the server worked on it: all of it estimated."""
    size = completion.received
    received = max(window.estimate(size) if size else 0, completion.deltas)
    return Usage(1, fitted.tokens, received, estimated_tokens=fitted.tokens + received)


def _detail(said: Mapping[str, Any], part: str, name: str) -> int:
    details = said.get(f"{part}_tokens_details")
    return _whole(details, name) if isinstance(details, dict) else 0


def _whole(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    sound = isinstance(value, int | float) and 0 <= value <= _MOST_TOKENS
    return int(value or 0) if sound else 0
