"""An OpenAI-compatible server that costs next to nothing, fails as told, and keeps count.

    python -m benchmarks.quick.server [--latency 0.05] [--errors 0.05] [--hangs 0.01] [--cuts 0.02]

Its base URL goes to standard output, and it ends when standard input does. `GET /counts` says what
was asked and answered, `GET /answers` for each request that was answered whole its digest and the
time. Who sends the same request again gets the same replies.
"""

import argparse
import asyncio
import hashlib
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson

from benchmarks.quick.faults import Kind, Rates
from benchmarks.quick.texts import Sizes, reply
from benchmarks.serving import http, serve

MODEL = "quick"
_HEAD = {"id": "q", "created": 1, "model": MODEL}
_LISTED = {"object": "list", "data": [{"id": MODEL, "object": "model", "max_model_len": 10**6}]}
_EVENTS = "text/event-stream"


@dataclass(slots=True)
class Quick:
    """What the server does, and what it has done."""

    sizes: Sizes = field(default_factory=Sizes)
    rates: Rates = field(default_factory=Rates)
    latency: float = 0.0
    """Seconds of each answer."""
    piece: int = 400
    """Characters of one event of a stream."""
    counts: Counter[str] = field(default_factory=Counter)
    answers: list[tuple[str, float]] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)

    def about(self, path: str) -> bytes:
        """The answer to a question that is no completion."""
        if path == "/counts":
            return http(json.dumps(self.counts).encode())
        if path == "/answers":
            return http(json.dumps(self.answers).encode())
        return http(json.dumps(_LISTED).encode())


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out, and what it counts for."""

    raw: bytes
    kind: Kind
    digest: str
    counts: dict[str, int]


class Connection(asyncio.Protocol):
    """One connection of a client, with the requests that it holds."""

    def __init__(self, quick: Quick) -> None:
        """Answer as `quick` says."""
        self._quick = quick
        self._buffer = bytearray()
        self._held: set[asyncio.TimerHandle] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Forget what is held for a client that has left."""
        for handle in self._held:
            handle.cancel()
        self._quick.counts["abandoned"] += len(self._held)

    def data_received(self, data: bytes) -> None:
        """Take what came, and answer each request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end])
            _, _, length = head.lower().partition(b"content-length:")
            size = int(length.split(b"\r\n")[0]) if length else 0
            if len(self._buffer) < end + 4 + size:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + size])
            del self._buffer[: end + 4 + size]
            self._asked(head.split(b" ", 2)[1].decode(), body)

    def _asked(self, path: str, body: bytes) -> None:
        if not body:
            self._transport.write(self._quick.about(path))
            return
        answer = answered(self._quick, body)
        self._quick.counts["received"] += 1
        if answer.kind == "deaf":
            self._quick.counts["hang"] += 1
            return
        handle: asyncio.TimerHandle
        handle = asyncio.get_running_loop().call_later(
            self._quick.latency, lambda: self._send(answer, handle)
        )
        self._held.add(handle)

    def _send(self, answer: Answer, handle: asyncio.TimerHandle) -> None:
        self._held.discard(handle)
        self._quick.counts.update(answer.counts)
        if answer.kind in ("none", "cut"):
            self._quick.answers.append((answer.digest, time.time()))
        self._transport.write(answer.raw)


def answered(quick: Quick, body: bytes) -> Answer:
    """The answer to the completion that `body` asks for."""
    asked = orjson.loads(body)
    digest = hashlib.sha256(body).hexdigest()[:16]
    kind = quick.rates.of(f"{digest} {quick.tries[digest]}")
    quick.tries[digest] += 1
    if kind == "error":
        said = {"error": {"message": "quick: out of order", "code": 500}}
        return Answer(http(json.dumps(said).encode(), status=500), kind, digest, {"error": 1})
    prompt, n = asked["messages"][-1]["content"], asked.get("n") or 1
    seed = int(digest, 16)
    texts = [reply(prompt, seed + j, quick.sizes) for j in range(n)]
    if kind == "cut":
        texts = [text[: len(text) // 2] for text in texts]
    usage = {
        "prompt_tokens": sum(len(m["content"]) for m in asked["messages"]) // 4,
        "completion_tokens": sum(map(len, texts)) // 4,
    }
    reason = "length" if kind == "cut" else "stop"
    counts = {"answered": 1, "replies": n, "reply_bytes": sum(len(t.encode()) for t in texts)}
    made = streamed if asked.get("stream") else plain
    raw = made(texts, reason, usage, quick.piece)
    if kind == "silent":
        cut = raw.find(b"\n\n", raw.find(b"\r\n\r\n") + 4) + 2 if asked.get("stream") else 0
        return Answer(raw[:cut], kind, digest, {"hang": 1})
    return Answer(raw, kind, digest, {**counts, **usage, "cut": int(kind == "cut")})


def plain(texts: list[str], reason: str, usage: dict[str, int], piece: int) -> bytes:
    """The whole answer at once."""
    choices = [
        {"index": j, "finish_reason": reason, "message": {"role": "assistant", "content": text}}
        for j, text in enumerate(texts)
    ]
    return http(
        orjson.dumps({**_HEAD, "object": "chat.completion", "choices": choices, "usage": usage})
    )


def streamed(texts: list[str], reason: str, usage: dict[str, int], piece: int) -> bytes:
    """The answer as events."""

    def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
        chunk = {**_HEAD, "object": "chat.completion.chunk", "choices": choices, **more}
        return b"data: " + orjson.dumps(chunk) + b"\n\n"

    events = []
    for j, text in enumerate(texts):
        for begin in range(0, len(text), piece):
            delta = {"role": "assistant", "content": text[begin : begin + piece]}
            events.append(event([{"index": j, "delta": delta, "finish_reason": None}]))
        events.append(event([{"index": j, "delta": {}, "finish_reason": reason}]))
    events += [event([], usage=usage), b"data: [DONE]\n\n"]
    return http(b"".join(events), _EVENTS)


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("latency", "errors", "hangs", "cuts"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--piece", type=int, default=400)
    for name in ("solution", "verification", "summary"):
        default = getattr(Sizes(), name)
        parser.add_argument(f"--{name}", type=int, default=default, help="characters, about")
    given = parser.parse_args()
    sizes = Sizes(solution=given.solution, verification=given.verification, summary=given.summary)
    rates = Rates(errors=given.errors, hangs=given.hangs, cuts=given.cuts)
    quick = Quick(sizes, rates, given.latency, given.piece)
    asyncio.run(serve(partial(Connection, quick)))


if __name__ == "__main__":
    main()
