"""A completion as it arrives: in one body or in events, whole or broken, in any server's dialect.

Events carry no numbers, so that a delta which a proxy sends twice can't be told from one that says
the same twice; everything else that comes twice or in another order (ends, usage, choices) counts
once.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tmas_graph.models.faults import Fault

_GIVEN_UP = "abort"
_REASONS = {
    "max_tokens": "length",
    "model_length": "length",
    "safety": "content_filter",
    "error": _GIVEN_UP,
    "insufficient_system_resource": _GIVEN_UP,
}
"""Other servers' names, in lower case, for reasons to finish before the end."""


@dataclass(slots=True)
class Choice:
    """One of the replies."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    deltas: int = 0
    """Pieces that it came in: no more than its tokens."""

    @property
    def given_up(self) -> bool:
        """Whether the server itself broke it off: it was shut down, say, or lacked memory."""
        return self.finish_reason == _GIVEN_UP

    def take(self, said: Mapping[str, Any]) -> None:
        """Take in a message, or what a delta adds to it."""
        thinking = said.get("reasoning") or said.get("reasoning_content")
        text, refusal = said.get("content"), said.get("refusal")
        if thinking:
            self._add(self.thinking, thinking)
        if text:
            self._add(self.text, text)
        if refusal:
            self._add(self.refusal, refusal)

    def _add(self, pieces: list[str], said: object) -> None:
        if text := said if isinstance(said, str) else _text(said):
            pieces.append(text)
            self.deltas += 1


@dataclass(slots=True)
class Completion:
    """What has come so far."""

    streamed: bool = False
    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)
    """Of all choices together; empty where the server doesn't say."""
    model: str = ""

    def take(self, body: object) -> None:
        """Take in a body or an event.

        Raises:
            Fault: it is an error, or it is no completion.
        """
        if not isinstance(body, dict):
            raise self._malformed(f"no object, {json.dumps(body)[:60]}")
        if body.get("error") or body.get("object") == "error":
            fault = _error(body)
            fault.received = self.received
            raise fault
        if isinstance(usage := body.get("usage"), dict):
            self.usage = usage
        if not self.model:
            self.model = str(body.get("model") or "")
        choices = body.get("choices")
        if isinstance(choices, list):
            for place, choice in enumerate(choices):
                self._choice(place, choice)

    def ended(self) -> None:
        """Make sure that it is whole, once nothing more will come.

        Raises:
            Fault: there is no choice, the end of one is missing, or the server gave all up.
        """
        if not self.choices:
            raise self._malformed("it has no choices")
        if self.streamed and not all(c.finish_reason for c in self.choices.values()):
            raise Fault("broken", "the stream ended before the reply", received=self.received)
        if all(choice.given_up for choice in self.choices.values()):
            raise Fault("broken", "the server gave the reply up", received=self.received)

    @property
    def received(self) -> int:
        """Bytes of text, thinking and refusals included, that have come."""
        return sum(
            len(piece.encode("utf-8", "replace"))
            for choice in self.choices.values()
            for piece in (*choice.text, *choice.thinking, *choice.refusal)
        )

    @property
    def deltas(self) -> int:
        """Pieces that all choices were streamed in; 0 if they weren't streamed."""
        return sum(c.deltas for c in self.choices.values()) if self.streamed else 0

    def _choice(self, place: int, given: object) -> None:
        if not isinstance(given, dict):
            raise self._malformed("a choice is no object")
        index = given.get("index")
        if not isinstance(index, int) or (not self.streamed and index in self.choices):
            index = place  # some servers call every choice 0
        if (choice := self.choices.get(index)) is None:
            choice = self.choices[index] = Choice()
        said = given.get("delta" if self.streamed else "message")
        if isinstance(said, dict):
            choice.take(said)
        elif not self.streamed:
            raise self._malformed("a choice has no message")
        if reason := given.get("finish_reason"):
            choice.finish_reason = _REASONS.get(str(reason).lower(), str(reason))

    def _malformed(self, said: str) -> Fault:
        return Fault("malformed", said, received=self.received)


def _text(content: object) -> str:
    """A message's text; some servers send it in parts."""
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _error(body: Mapping[str, Any]) -> Fault:
    said = body.get("error")
    about = said if isinstance(said, dict) else body
    words = about.get("message") or (said if isinstance(said, str) else "an error")
    return Fault.of_status(_status(about), str(words), about=about)


def _status(about: Mapping[str, Any]) -> int:
    code = str(about.get("code"))
    if code.isdecimal() and 400 <= int(code[:9]) < 600:
        return int(code)
    return 400 if str(about.get("type")) in ("invalid_request_error", "BadRequestError") else 500
