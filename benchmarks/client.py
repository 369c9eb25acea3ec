"""Requests per second and processor time per call of model clients, side by side.

    python -m benchmarks.client [--calls 4000] [--rounds 3]

A server in a process of its own answers each request after 0.2 s with the same short reply and
does as good as nothing else, so that the clients are what limits. Each client makes the same
calls with 50, 200 and 800 in flight, in turns, several rounds; shown are medians with the range.
"In flight" is the most requests that the server held at once.

- ours: a call through EndpointClient, with limiter, retries, fitting and accounting, streamed
- ours, plain: the same without streaming (`stream` off)
- ChatOpenAI: `ainvoke`, with openai's default transport, under a semaphore
- AsyncOpenAI: `chat.completions.create`, likewise
"""

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from statistics import median

import openai
from langchain_openai import ChatOpenAI
from rich.console import Console
from rich.table import Table

from benchmarks.serving import http, serve, served
from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.models import pool
from tmas_graph.prompts import Prompt

IN_FLIGHT = (50, 200, 800)
PROMPT = "x " * 1000
"""2 kB."""
REPLY = "The answer is 42. " * 25
LATENCY = 0.2
"""Seconds of each answer."""
Call = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Measure:
    """What one client did in one round."""

    per_second: float
    milliseconds: float
    """Processor time of this process per call."""
    in_flight: int


class NoopServer(asyncio.Protocol):
    """Answers any request with the same completion; counts what it holds."""

    held = most = 0
    latency: Callable[[bytes], float] = staticmethod(lambda body: LATENCY)
    """Seconds until the answer to a request with this body."""
    answers: tuple[bytes, bytes] = (b"", b"")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection."""
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        """Take what came, and answer each request that is whole."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end]
            _, _, length = head.lower().partition(b"content-length:")
            size = int(length.split(b"\r\n")[0]) if length else 0
            if len(self.buffer) < end + 4 + size:
                return
            body, self.buffer = self.buffer[end + 4 : end + 4 + size], self.buffer[end + 4 + size :]
            self._answer(head, body)

    def _answer(self, head: bytes, body: bytes) -> None:
        kind, path = type(self), head.split(b" ", 2)[1]
        if path == b"/most":
            self._send(http(json.dumps(kind.most).encode()))
            kind.most = 0
        elif not body:
            self._send(http(b'{"data": [{"id": "noop"}]}'))
        else:
            kind.held += 1
            kind.most = max(kind.most, kind.held)
            streamed = b'"stream": true' in body or b'"stream":true' in body
            answer = kind.answers[streamed]
            seconds = kind.latency(body)
            asyncio.get_running_loop().call_later(seconds, self._send, answer, True)

    def _send(self, answer: bytes, held: bool = False) -> None:
        type(self).held -= held
        if not self.transport.is_closing():
            self.transport.write(answer)  # type: ignore[attr-defined]


def answers() -> tuple[bytes, bytes]:
    """The plain and the streamed form of the completion, as HTTP."""
    usage = {"prompt_tokens": 700, "completion_tokens": 150, "total_tokens": 850}
    head = {"id": "x", "created": 1, "model": "noop"}
    said = {"role": "assistant", "content": REPLY}
    plain = {"index": 0, "message": said, "finish_reason": "stop"}
    body = head | {"object": "chat.completion", "choices": [plain], "usage": usage}
    ends = [({"role": "assistant", "content": ""}, None), ({"content": REPLY}, None), ({}, "stop")]
    chunks: list[dict[str, object]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in ends
    ]
    chunks.append({"choices": [], "usage": usage})
    common = head | {"object": "chat.completion.chunk"}
    events = [f"data: {json.dumps(common | chunk)}\n\n" for chunk in chunks]
    stream = ("".join(events) + "data: [DONE]\n\n").encode()
    return http(json.dumps(body).encode()), http(stream, "text/event-stream")


async def serve_noop() -> None:
    """Serve until standard input ends."""
    NoopServer.answers = answers()
    await serve(NoopServer)


@asynccontextmanager
async def ours(url: str, most: int, **fields: bool) -> AsyncIterator[Call]:
    """Our client."""
    endpoint = Endpoint(base_url=url, model="noop", concurrency=most, **fields)  # type: ignore[arg-type]
    client = await pool.connect(endpoint)
    prompt = Prompt([{"role": "user", "content": PROMPT}])
    yield lambda: client(prompt)
    await pool.close()


@asynccontextmanager
async def chat_openai(url: str, most: int) -> AsyncIterator[Call]:
    """LangChain's, as it comes."""
    chat = ChatOpenAI(model="noop", base_url=url, api_key="x", max_retries=0, timeout=600)  # type: ignore[arg-type]
    yield _limited(lambda: chat.ainvoke([{"role": "user", "content": PROMPT}]), most)


@asynccontextmanager
async def async_openai(url: str, most: int) -> AsyncIterator[Call]:
    """openai's, as it comes."""
    async with openai.AsyncOpenAI(base_url=url, api_key="x", max_retries=0, timeout=600) as client:
        create = client.chat.completions.create
        message = {"role": "user", "content": PROMPT}
        yield _limited(lambda: create(model="noop", messages=[message]), most)  # type: ignore[list-item]


CLIENTS = {
    "ours": ours,
    "ours, plain": lambda url, most: ours(url, most, stream=False),
    "ChatOpenAI": chat_openai,
    "AsyncOpenAI": async_openai,
}


def _limited(call: Call, most: int) -> Call:
    limit = asyncio.Semaphore(most)

    async def limited() -> object:
        async with limit:
            return await call()

    return limited


async def measured(
    call: Call, calls: int, most: int, reset: Callable[[], Awaitable[int]]
) -> Measure:
    """Time `calls` calls, after as many as fill the connections once."""
    await asyncio.gather(*(call() for _ in range(most)))
    await reset()
    since, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(call() for _ in range(calls)))
    wall, cpu = time.perf_counter() - since, time.process_time() - cpu
    return Measure(calls / wall, 1000 * cpu / calls, await reset())


async def run(url: str, calls: int, rounds: int) -> dict[tuple[int, str], list[Measure]]:
    """Measure every client at every number in flight, in turns."""
    found: dict[tuple[int, str], list[Measure]] = {}
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(openai.DefaultAsyncHttpxClient())

        async def reset() -> int:
            return int((await http.get(url.removesuffix("/v1") + "/most")).text)

        for most in IN_FLIGHT:
            for _ in range(rounds):
                for name, client in CLIENTS.items():
                    async with client(url, most) as call:
                        measure = await measured(call, max(calls, 2 * most), most, reset)
                    found.setdefault((most, name), []).append(measure)
    return found


def table(found: dict[tuple[int, str], list[Measure]]) -> Table:
    """The medians with their ranges, and how many times ChatOpenAI's throughput that is."""
    shown = Table(
        "in flight", "client", "requests/s", "× ChatOpenAI", "ms CPU/call", "seen in flight"
    )
    for (most, name), measures in found.items():
        rate = median(m.per_second for m in measures)
        plain = median(m.per_second for m in found[most, "ChatOpenAI"])
        low, high = min(m.per_second for m in measures), max(m.per_second for m in measures)
        cpu = median(m.milliseconds for m in measures)
        seen = max(m.in_flight for m in measures)
        cells = (
            f"{rate:.0f} ({low:.0f}–{high:.0f})",
            f"{rate / plain:.2f}",
            f"{cpu:.2f}",
            str(seen),
        )
        shown.add_row(str(most), name, *cells)
    return shown


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve_noop())
        return
    with served("benchmarks.client", "--serve") as url:
        found = asyncio.run(run(url, options.calls, options.rounds))
    Console(width=100).print(table(found))


if __name__ == "__main__":
    main()
