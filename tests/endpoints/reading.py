"""A client that takes an answer as it comes, broken or not, and reads it as the protocol says."""

import json
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

USAGE = {"include_usage": True}
_LINE_ENDS = re.compile(rb"\r\n|\n|\r")


@dataclass
class Choice:
    """One choice, put together from its deltas or taken from its message."""

    text: str | None = None
    thinking: str = ""
    finish_reason: str | None = None
    refusal: str | None = None

    def add(self, part: dict[str, Any], finish_reason: str | None) -> None:
        """Add a delta, or a whole message."""
        if part.get("content") is not None:
            self.text = (self.text or "") + part["content"]
        self.thinking += part.get("reasoning") or part.get("reasoning_content") or ""
        self.refusal = part.get("refusal", self.refusal)
        self.finish_reason = finish_reason or self.finish_reason

    def said(self) -> tuple[str, str, str | None]:
        """Thinking, text and reason to finish, wherever the thinking was sent."""
        thinking, closing, text = (self.text or "").rpartition("</think>")
        if closing:
            return thinking.removeprefix("<think>"), text.strip(), self.finish_reason
        return self.thinking, text, self.finish_reason


@dataclass(frozen=True)
class Taken:
    """What came of an answer."""

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()
    """The body: of a stream a piece per chunk of HTTP, else what was read at once."""
    broken: bool = False
    """Whether the connection ended before the answer did."""

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def events(self) -> list[str]:
        """Data of the events of a stream."""
        lines = _LINE_ENDS.split(self.body)
        return [line.removeprefix(b"data: ").decode() for line in lines if line[:5] == b"data:"]

    @property
    def chunks(self) -> list[Any]:
        """JSON of the events of a stream."""
        return [json.loads(event) for event in self.events if event != "[DONE]"]

    @property
    def choices(self) -> list[Choice]:
        """The choices of a stream or of a body, by index."""
        found: dict[int, Choice] = {}
        streamed = self.headers["Content-Type"].startswith("text/event-stream")
        for whole in self.chunks if streamed else [json.loads(self.body)]:
            for choice in whole["choices"]:
                part = choice["delta"] if streamed else choice["message"]
                found.setdefault(choice["index"], Choice()).add(part, choice["finish_reason"])
        return [found[index] for index in sorted(found)]


def question(text: str = "?", **more: Any) -> dict[str, Any]:
    """The body of a request."""
    return {"model": "scripted", "messages": [{"role": "user", "content": text}], **more}


@asynccontextmanager
async def asked(base_url: str, body: dict[str, Any]) -> AsyncIterator[aiohttp.ClientResponse]:
    """An answer of which the headers are there."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{base_url}/chat/completions", json=body) as response,
    ):
        yield response


async def take(base_url: str, text: str = "?", **more: Any) -> Taken:
    """Ask, and take what comes until the end or the break."""
    status, headers = None, {}
    pieces: list[bytes] = []
    try:
        async with asked(base_url, question(text, **more)) as response:
            status, headers = response.status, dict(response.headers)
            async for piece in pieces_of(response):
                pieces.append(piece)
    except aiohttp.ClientError:
        return Taken(status, headers, tuple(pieces), broken=True)
    return Taken(status, headers, tuple(pieces))


async def pieces_of(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """The chunks of HTTP in a stream; of another answer, what comes at once."""
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "")
    piece = b""
    async for data, ends in response.content.iter_chunks():
        piece += data
        if piece and (ends or not chunked):
            yield piece
            piece = b""


def contents(chunks: Iterable[Any]) -> list[tuple[int, dict[str, Any], str | None]]:
    """`(index, delta, reason to finish)` of each choice in each event."""
    return [(c["index"], c["delta"], c["finish_reason"]) for e in chunks for c in e["choices"]]
