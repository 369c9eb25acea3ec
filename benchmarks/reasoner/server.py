"""An OpenAI-compatible server around the synthetic reasoner, plain and streamed.

`GET /v1/models`, `POST /v1/chat/completions` with `n`, `seed`, `stream` and `max_tokens`, and
`GET /stats` for what was asked, served and spent. Reply j of a request is the one that seed + j
alone would give; without a seed, no two requests are alike. A prompt that isn't one of ours is
answered with 400 and counted as `unknown`.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from benchmarks.reasoner.direct import Reasoner, Spoken
from benchmarks.reasoner.lengths import tokens
from benchmarks.reasoner.line import Line, Pace
from benchmarks.reasoner.play import UnknownPrompt
from benchmarks.reasoner.trouble import Kind, Trouble

MODEL = "reasoner"
_LARGEST = 64 * 2**20
_PIECE = 400
"""Characters of one event of a stream."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as far as it is heeded."""

    messages: list[Any]
    seed: int
    n: int = 1
    stream: bool = False
    most: int | None = None
    """Tokens of one reply at most."""


@dataclass(slots=True)
class Server:
    """The handlers and their counts."""

    reasoner: Reasoner = field(default_factory=Reasoner)
    pace: Pace = field(default_factory=Pace)
    trouble: Trouble = field(default_factory=Trouble)
    counts: Counter[str] = field(default_factory=Counter)
    """Requests by how they ended, and the tokens of those that were answered."""
    line: Line = field(init=False)
    _number: int = 0

    def __post_init__(self) -> None:
        """Open the line."""
        self.line = Line(self.pace)

    def app(self) -> web.Application:
        """What a runner of aiohttp serves."""
        made = web.Application(client_max_size=_LARGEST)
        made.router.add_get("/v1/models", self._models)
        made.router.add_get("/stats", self._stats)
        made.router.add_post("/v1/chat/completions", self._complete)
        return made

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _stats(self, request: web.Request) -> web.Response:
        line = {"in_flight": self.line.served, "waiting": self.line.waiting}
        line |= {"most": self.line.most, "busy_seconds": self.line.busy_seconds}  # type: ignore[dict-item]
        return web.json_response(
            {"asked": self.reasoner.asked, "counts": self.counts, "line": line}
        )

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self._number += 1
        number = self._number
        try:
            asked = read(await request.json(), number)
        except (ValueError, KeyError, TypeError) as error:
            return _refused(400, f"reasoner: the request can't be read: {error!r}")
        kind = self.trouble.of(number)
        seconds = self.pace.seconds(random.Random(f"{asked.seed} {asked.n} seconds"))
        async with self.line.place(seconds):
            if kind == "hang":
                self.counts["hang"] += 1
                await asyncio.Event().wait()  # until the client goes
            if kind == "error":
                self.counts["error"] += 1
                return _refused(random.Random(number).choice((500, 503)), "reasoner: out of order")
            try:
                said = self.reasoner.speak(asked.messages, asked.seed, asked.n)
            except UnknownPrompt as error:
                self.counts["unknown"] += 1
                return _refused(400, str(error))
        return await self._answered(request, asked, shortened(said, asked.most, kind))

    async def _answered(
        self, request: web.Request, asked: Asked, said: tuple[Spoken, str]
    ) -> web.StreamResponse:
        spoken, reason = said
        usage = usage_of(spoken)
        self.counts.update({"answered": 1, "replies": len(spoken.texts)})
        self.counts.update({name: usage[name] for name in ("prompt_tokens", "completion_tokens")})
        if not asked.stream:
            return web.json_response(plain(spoken, reason, usage))
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for event in events(spoken, reason, usage):
            await response.write(event)
        await response.write_eof()
        return response


def read(body: Mapping[str, Any], number: int) -> Asked:
    """What the body of request `number` asks for.

    Raises:
        ValueError, KeyError, TypeError: it isn't one of a chat completion.
    """
    messages, n, seed = list(body["messages"]), int(body.get("n") or 1), body.get("seed")
    if not all(isinstance(message["content"], str) for message in messages):
        raise TypeError("a message's content is no text")
    own = random.Random(number).getrandbits(31) if seed is None else int(seed)
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    return Asked(messages, own, n, bool(body.get("stream")), most)


def shortened(said: Spoken, most: int | None, kind: Kind) -> tuple[Spoken, str]:
    """The replies and why they end: those of trouble, or over `most` tokens, lack their end.

    Thinking counts as a model's own does: what it takes isn't left for the text.
    """
    if kind == "cut":
        return replace(said, texts=tuple(text[: len(text) // 2] for text in said.texts)), "length"
    if most is None or all(
        t + tokens(x) <= most for t, x in zip(said.thinking, said.texts, strict=True)
    ):
        return said, "stop"
    thinking = tuple(min(t, most) for t in said.thinking)
    left = zip(thinking, said.texts, strict=True)
    return replace(said, texts=tuple(x[: 4 * (most - t)] for t, x in left), thinking=thinking), (
        "length"
    )


def usage_of(said: Spoken) -> dict[str, Any]:
    """What the request cost, as servers say it."""
    completion = said.completion_tokens
    return {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": completion,
        "total_tokens": said.prompt_tokens + completion,
        "completion_tokens_details": {"reasoning_tokens": sum(said.thinking)},
    }


def plain(said: Spoken, reason: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an answer that isn't streamed."""
    choices = [
        {"index": j, "finish_reason": reason, "message": {"role": "assistant", "content": text}}
        for j, text in enumerate(said.texts)
    ]
    return {**_HEAD, "object": "chat.completion", "choices": choices, "usage": usage}


def events(said: Spoken, reason: str, usage: Mapping[str, Any]) -> Iterator[bytes]:
    """The events of a streamed answer, reply by reply."""
    for j, text in enumerate(said.texts):
        for begin in range(0, max(1, len(text)), _PIECE):
            delta = {"role": "assistant", "content": text[begin : begin + _PIECE]}
            yield _event({"choices": [{"index": j, "delta": delta, "finish_reason": None}]})
        yield _event({"choices": [{"index": j, "delta": {}, "finish_reason": reason}]})
    yield _event({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


_HEAD = {"id": "chatcmpl-reasoner", "created": 0, "model": MODEL}


def _event(chunk: Mapping[str, Any]) -> bytes:
    said = {**_HEAD, "object": "chat.completion.chunk", **chunk}
    return f"data: {json.dumps(said)}\n\n".encode()


def _refused(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)
