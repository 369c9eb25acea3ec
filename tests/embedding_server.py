"""A scripted server with /v1/embeddings, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import serving as applications
from aiohttp import web


@dataclass
class Server:
    """Answers with vectors that say how long a text is, or as `answers` say, one a request."""

    answers: list[tuple[int, Any]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    base_url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        self.keys.append(request.headers["authorization"])
        if self.answers:
            status, said = self.answers.pop(0)
            return web.json_response(said, status=status)
        rows = [
            {"index": i, "embedding": [float(len(text)), 1.0], "object": "embedding"}
            for i, text in enumerate(body["input"])
        ]
        return web.json_response({"object": "list", "data": rows[::-1]})


@asynccontextmanager
async def serving(*answers: tuple[int, Any]) -> AsyncIterator[Server]:
    server = Server(list(answers))
    application = web.Application()
    application.router.add_post("/v1/embeddings", server.answer)
    async with applications.serving(application, shutdown_timeout=0.05) as url:
        server.base_url = f"{url}/v1"
        yield server
