"""An answer as it goes over the wire: steps that are taken one by one, bytes, waits and a break.

Each step of bytes is one write, which in a stream is one chunk of HTTP's chunked coding: a client
that looks at those sees the same pieces however TCP cuts them.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal

from aiohttp import web

from endpoints.protocol import Failure

Event = dict[str, Any] | bytes
"""An event of a stream: JSON, or the bytes of a whole one."""
Gate = Callable[[], Awaitable[object]]
"""What is waited for before the next step, in the server's loop."""
Place = Literal["before_headers", "after_headers", "midway"]


class Signal(Enum):
    """A step that is neither bytes nor a wait."""

    HEADERS = "status line and headers are sent"
    DROP = "the connection is aborted; the steps behind only count for Content-Length"


Step = bytes | Gate | Signal
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Status, headers and steps."""

    steps: tuple[Step, ...]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    streamed: bool = False
    """In chunked coding, without Content-Length."""

    @property
    def breaks(self) -> bool:
        """Whether the connection is aborted before the end."""
        return Signal.DROP in self.steps

    @property
    def size(self) -> int:
        """Bytes of the body, those behind a break too."""
        return sum(len(step) for step in self.steps if isinstance(step, bytes))

    def with_bytes(self, change: Callable[[bytes], Iterable[bytes]]) -> "Answer":
        """The same with other bytes in place of each step of bytes."""
        steps: list[Step] = []
        for step in self.steps:
            steps.extend(change(step) if isinstance(step, bytes) else (step,))
        return replace(self, steps=tuple(steps))

    def interrupted(self, step: Step, where: Place, chunks: int) -> "Answer":
        """The same with `step` put in; midway is after `chunks` writes, or half a plain body."""
        whole = self if self.streamed or where != "midway" else self.with_bytes(_halves)
        begin = whole.steps.index(Signal.HEADERS)
        after = chunks if self.streamed else 1
        place = {
            "before_headers": begin,
            "after_headers": begin + 1,
            "midway": begin + 1 + after,
        }[where]
        return replace(whole, steps=(*whole.steps[:place], step, *whole.steps[place:]))


def _halves(whole: bytes) -> tuple[bytes, bytes]:
    return whole[: len(whole) // 2], whole[len(whole) // 2 :]


def plain(body: Any) -> Answer:
    """An answer of JSON."""
    return Answer(steps=(Signal.HEADERS, encoded(body)))


def streamed(events: Iterable[Event]) -> Answer:
    """An answer of server-sent events, a write each."""
    writes = tuple(
        event if isinstance(event, bytes) else b"data: " + encoded(event) + b"\n\n"
        for event in events
    )
    return Answer(steps=(Signal.HEADERS, *writes), content_type="text/event-stream", streamed=True)


def failed(failure: Failure) -> Answer:
    """An answer that is an error."""
    body = failure.body
    if body is None:
        kind = "invalid_request_error" if failure.status < 500 else "server_error"
        body = error_body(failure.message, kind, None)
    return Answer(
        steps=(Signal.HEADERS, body.encode()),
        status=failure.status,
        content_type=failure.content_type,
        headers=failure.headers,
    )


def error_body(message: str, kind: str, code: str | int | None, param: str | None = None) -> str:
    """OpenAI's shape of an error."""
    said = {"message": message, "type": kind, "param": param, "code": code}
    return json.dumps({"error": said})


def encoded(value: Any) -> bytes:
    """`value` as JSON in UTF-8, as most servers send it."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can carry
        return json.dumps(value).encode()


async def deliver(
    http: web.Request, answer: Answer, begin: Callable[[], None]
) -> web.StreamResponse:
    """Take the steps of `answer`, and call `begin` before the first byte."""
    content_type = f"{answer.content_type}; charset=utf-8"
    response = web.StreamResponse(
        status=answer.status, headers={"Content-Type": content_type, **answer.headers}
    )
    if not answer.streamed:
        response.content_length = answer.size
    for step in answer.steps:
        if step is Signal.HEADERS:
            begin()
            await response.prepare(http)
        elif step is Signal.DROP:
            if http.transport:
                http.transport.abort()
            return response  # aiohttp finds the connection closed, and leaves it at that
        elif isinstance(step, bytes):
            if step:  # an empty chunk would end a chunked body
                await response.write(step)
        elif callable(step):
            await step()
    await response.write_eof()
    return response
