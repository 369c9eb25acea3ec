"""A completion as it arrives: in one body or in events, whole or broken, in any server's dialect.

Events carry no numbers, so that a delta which a proxy sends twice can't be told from one that says
the same twice; everything else that comes twice or in another order (ends, usage, choices) counts
once.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tmas_graph.models.faults import Fault

_THINKING = ("reasoning", "reasoning_content")
"""vLLM's names for it, the older one last."""
_LONGEST_LINE = 64 * 2**20


@dataclass(slots=True)
class Choice:
    """One of the replies."""

    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    finish_reason: str | None = None
    deltas: int = 0
    """Pieces that it came in: no more than its tokens."""

    def take(self, said: dict[str, Any]) -> None:
        """Take in a message, or what a delta adds to it."""
        parts = (
            (self.thinking, _text(next((said[n] for n in _THINKING if said.get(n)), None))),
            (self.text, _text(said.get("content"))),
            (self.refusal, _text(said.get("refusal"))),
        )
        for pieces, text in parts:
            if text:
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
            raise Fault("malformed", f"a {type(body).__name__} in place of an object")
        if body.get("error") or body.get("object") == "error":
            raise _error(body)
        choices = body.get("choices")
        if isinstance(usage := body.get("usage"), dict):
            self.usage = usage
        self.model = str(body.get("model") or self.model)
        for place, choice in enumerate(choices if isinstance(choices, list) else []):
            self._choice(place, choice)

    def ended(self) -> "Completion":
        """The completion itself, once nothing more will come.

        Raises:
            Fault: there is no choice, or the end of one is missing.
        """
        if not self.choices:
            raise Fault("malformed", "it has no choices", received=0)
        if self.streamed and not all(c.finish_reason for c in self.choices.values()):
            raise Fault("connection", "the stream ended before the reply", received=self.received)
        return self

    @property
    def received(self) -> int:
        """Bytes of text, thinking included, that have come."""
        return sum(
            len(piece.encode("utf-8", "replace"))
            for choice in self.choices.values()
            for piece in (*choice.text, *choice.thinking)
        )

    def _choice(self, place: int, given: object) -> None:
        if not isinstance(given, dict):
            raise Fault("malformed", "a choice is no object", received=self.received)
        index = given.get("index")
        choice = self.choices.setdefault(index if isinstance(index, int) else place, Choice())
        said = given.get("delta") if self.streamed else given.get("message")
        if isinstance(said, dict):
            choice.take(said)
        if reason := given.get("finish_reason"):
            choice.finish_reason = str(reason)


class Events:
    """Splits a stream of bytes into the data of its server-sent events."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[object]:
        """The data, decoded from JSON, of the events that `piece` completes.

        Raises:
            Fault: an event is no JSON.
        """
        lines = (self._rest + piece).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST_LINE:
            raise Fault("malformed", f"an event of more than {_LONGEST_LINE} bytes")
        for line in lines:
            yield from self._line(line.rstrip(b"\r"))

    def close(self) -> Iterator[object]:
        """The data of a last event whose end is missing, if it is whole."""
        yield from self._line(self._rest.rstrip(b"\r"))
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[object]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            if data != b"[DONE]":
                yield decoded(data)


def decoded(data: bytes) -> object:
    """What `data` says in JSON.

    Raises:
        Fault: it is no JSON, or not all of it.
    """
    try:
        return json.loads(data)
    except ValueError:
        raise Fault("connection", f"half an answer, or no JSON: {_start(data)!r}") from None


def _start(data: bytes) -> str:
    return data[:60].decode("utf-8", "replace")


def _text(content: object) -> str:
    """A message's text; some servers send it in parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [part.get("text") for part in content if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _error(body: dict[str, Any]) -> Fault:
    said = body.get("error")
    about = said if isinstance(said, dict) else body
    code = about.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return Fault.of_status(status, str(about.get("message") or said or "an error"), about=about)
