"""An OpenAI-compatible server that answers from a script and records what it was asked.

In a test: `async with server(latency=0.01) as scripted:` in the test's own loop, or `with …` in a
thread of its own. As a process, whose log survives kill −9: `with ServerProcess(log, …)`, or
`python tests/endpoints/scripted.py --log FILE`, which prints its base URL.

It answers in good form, or with the fault that `Behaviour.fault` draws for a request; the faults
are in `endpoints/faults/`.
"""

import asyncio
import json
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from aiohttp import web

if not __package__:  # run as a script
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from endpoints import listing, wire
from endpoints.behaviour import Behaviour
from endpoints.delivery import Answer, deliver, failed
from endpoints.journal import Journal
from endpoints.protocol import Replies, Request, digest_of, messages_of
from endpoints.reasoner import Reasoner, role_of
from endpoints.refusals import refusal, unauthorised

DEFAULT = Behaviour(script=Reasoner(), role_of=role_of)
_LARGEST_BODY = 256 * 2**20
_BACKLOG = 4096


def server(*, port: int = 0, log: Path | None = None, **changes: Any) -> "ScriptedServer":
    """A server whose behaviour is the default one with `changes`, for `with` or `async with`."""
    return ScriptedServer(replace(DEFAULT, **changes), port=port, log=log)


class ScriptedServer:
    """The server; it serves inside `with` (own thread and loop) or `async with` (this loop)."""

    def __init__(
        self, behaviour: Behaviour = DEFAULT, *, port: int = 0, log: Path | None = None
    ) -> None:
        """Prepare a server on 127.0.0.1 (port 0: a free one) and record in the file `log` too."""
        self.behaviour = behaviour
        """May be changed while it serves."""
        self.requests: list[Request] = []
        """All requests for completions in order of arrival, refused ones too."""
        self.in_flight = 0
        self.max_in_flight = 0
        self.port = port
        self._log = log
        self._journal: Journal | None = None
        self._seen: Counter[str] = Counter()
        self._runner: web.AppRunner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Its root, e.g. of /health."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What a client takes: the root and /v1."""
        return f"{self.url}/v1"

    def change(self, **changes: Any) -> None:
        """Behave otherwise from the next request on."""
        self.behaviour = replace(self.behaviour, **changes)

    def asked(self, role: str) -> list[Request]:
        """The requests of a role ("solution_explore") or of an agent ("solution")."""
        return [r for r in self.requests if role in (r.role, r.agent)]

    def repeated(self) -> list[Request]:
        """The requests whose body was received before."""
        return [r for r in self.requests if r.attempt]

    async def start(self) -> None:
        """Serve, until `stop`."""
        self._journal = Journal(self._log) if self._log else None
        self._runner = web.AppRunner(
            self._application(),
            access_log=None,
            handler_cancellation=True,  # a client that left is no longer in flight
            shutdown_timeout=0.05,
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=_BACKLOG).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the port and every connection; `start` serves on the same port again."""
        if self._runner:
            await self._runner.cleanup()
        if self._journal:
            self._journal.close()
        self._runner = self._journal = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self.start(), self._loop).result(30)
        except BaseException:
            self._end_thread()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        try:
            if self._loop:
                asyncio.run_coroutine_threadsafe(self.stop(), self._loop).result(30)
        finally:
            self._end_thread()

    def _end_thread(self) -> None:
        if self._loop and self._thread:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        self._loop = self._thread = None

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=_LARGEST_BODY)
        application.router.add_post("/v1/chat/completions", self._completions)
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/health", self._health)
        application.router.add_post("/tokenize", self._tokenize)
        return application

    async def _health(self, http: web.Request) -> web.Response:
        return web.Response()

    async def _models(self, http: web.Request) -> web.StreamResponse:
        behaviour = self.behaviour
        await asyncio.sleep(behaviour.listing_latency)
        refused = unauthorised(http.headers, behaviour)
        answer = failed(refused) if refused else listing.models(behaviour)
        return await deliver(http, answer, lambda: None)

    async def _tokenize(self, http: web.Request) -> web.StreamResponse:
        answer = listing.tokens(_json_object(await http.read()), self.behaviour)
        return await deliver(http, answer, lambda: None)

    async def _completions(self, http: web.Request) -> web.StreamResponse:
        received = time.time()
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        index = None
        try:
            body = _json_object(await http.read())
            index = self._received(received, http, body)
            return await self._answer(http, index)
        except (asyncio.CancelledError, ConnectionError):
            if index is not None:
                self._update(index, abandoned=True)
            raise
        finally:
            self.in_flight -= 1

    async def _answer(self, http: web.Request, index: int) -> web.StreamResponse:
        request, behaviour = self.requests[index], self.behaviour
        refused = unauthorised(http.headers, behaviour) or refusal(request, behaviour)
        if refused:
            return await self._send(http, index, failed(refused))
        if fault := behaviour.fault_of(request):
            self._update(index, fault=fault.name)
            behaviour = wire.faulted(behaviour, fault)
            if refused := refusal(request, behaviour):
                return await self._send(http, index, failed(refused))
        replies = wire.replies_to(request, behaviour, fault)
        await _wait(request, behaviour, replies)
        answer = wire.answer(request, behaviour, replies, fault)
        return await self._send(http, index, answer, replies)

    async def _send(
        self, http: web.Request, index: int, answer: Answer, replies: Replies = ()
    ) -> web.StreamResponse:
        def begin() -> None:
            self._update(index, status=answer.status, replies=replies)

        response = await deliver(http, answer, begin)
        if not answer.breaks:
            self._update(index, time_answered=time.time())
        return response

    def _received(self, at: float, http: web.Request, body: dict[str, Any]) -> int:
        messages = messages_of(body)
        digest = digest_of(body)
        request = Request(
            index=len(self.requests),
            attempt=self._seen[digest],
            time_received=at,
            headers={name.lower(): value for name, value in http.headers.items()},
            body=body,
            messages=messages,
            n=body.get("n") or 1,
            seed=body.get("seed"),
            role=self.behaviour.role_of(messages),
        )
        self._seen[digest] += 1
        self.requests.append(request)
        if self._journal:
            self._journal.received(request)
        return request.index

    def _update(self, index: int, **changes: Any) -> None:
        self.requests[index] = replace(self.requests[index], **changes)
        if self._journal:
            self._journal.changed(index, changes)


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


async def _wait(request: Request, behaviour: Behaviour, replies: Replies) -> None:
    latency = behaviour.latency
    seconds = latency(request) if callable(latency) else latency
    seconds += max((reply.latency for reply in replies), default=0.0)
    if seconds > 0:
        await asyncio.sleep(seconds)


if __name__ == "__main__":
    from endpoints.process import main

    main()
