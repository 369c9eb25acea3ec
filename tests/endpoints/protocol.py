"""What passes between a scripted server and its script, and what the server records."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

Messages = tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request for chat completions, as received and as answered."""

    index: int
    """How many came before it, in order of arrival."""
    attempt: int
    """How many requests with the same body came before it."""
    time_received: float
    """Seconds since the epoch, so that processes can compare them."""
    time_answered: float | None = None
    """When the whole answer was with the socket; None before, and where that never happened.

    A client in another thread or process may have the answer a moment before this is set.
    """
    abandoned: bool = False
    """Whether the client closed the connection before it was answered, or the server stopped."""
    status: int | None = None
    """HTTP status of the answer; this and `replies` are set before the first byte is sent."""
    fault: str | None = None
    """Name of the fault that its answer has; set before the first byte is due."""
    headers: Mapping[str, str] = field(repr=False)
    """Names in lower case."""
    body: Mapping[str, Any] = field(repr=False)
    """Empty where it was not a JSON object."""
    messages: Messages = field(repr=False)
    n: int = 1
    seed: int | None = None
    role: str = "unknown"
    """As `Behaviour.role_of` reads it from the messages, e.g. "solution_explore"."""
    replies: "tuple[ScriptedReply, ...]" = field(default=(), repr=False)
    """One per choice of the answer; a fault may have kept them from being sent."""

    @property
    def streamed(self) -> bool:
        """Whether it asks for a stream."""
        return bool(self.body.get("stream"))

    @property
    def agent(self) -> str:
        """The role without its mode: "solution" for "solution_explore"."""
        return self.role.partition("_")[0]

    @cached_property
    def text(self) -> str:
        """All that the messages say."""
        return text_of(self.messages)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the body: equal requests have equal digests."""
        return digest_of(self.body)

    @cached_property
    def _messages_digest(self) -> str:
        return digest_of(self.messages)

    def draw(self, choice: int, purpose: str = "") -> str:
        """64 hexadecimal digits that depend on messages, seed and choice, on nothing else.

        Choice j of a request with seed s draws as choice 0 of one with seed s + j, as in vLLM:
        replies asked for one by one are those that one request with `n` would have given.
        """
        place = f"none:{choice}" if self.seed is None else str(self.seed + choice)
        return hashlib.sha256(f"{self._messages_digest}:{place}:{purpose}".encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class ScriptedReply:
    """One choice of an answer."""

    text: str | None
    """None is sent as `"content": null`."""
    thinking: str = ""
    unclosed: bool = False
    """Whether it was cut within the thinking: inline thinking gets no closing tag."""
    refusal: str | None = None
    """Sent as the message's `refusal`, where it is set."""
    finish_reason: str | None = "stop"
    latency: float = 0.0
    """Seconds; the request waits for its slowest choice, after `Behaviour.latency`."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An answer that is an error."""

    status: int = 500
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent as it is, in place of OpenAI's error shape around `message`."""
    content_type: str = "application/json"


Replies = tuple[ScriptedReply, ...]
Script = Callable[[Request, int], "str | ScriptedReply"]
"""`(request, choice index) -> reply`."""


def messages_of(body: Mapping[str, Any]) -> Messages:
    """The messages of a request; none where they are no list of objects."""
    messages = body.get("messages")
    whole = isinstance(messages, list) and all(isinstance(m, dict) for m in messages)
    return tuple(messages or ()) if whole else ()


def text_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """All that `messages` say."""
    return "\n".join(map(content_of, messages))


def content_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content is a text or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def digest_of(value: object) -> str:
    """SHA-256 of `value` as JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
