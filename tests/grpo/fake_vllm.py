"""A server that answers as vLLM does, keeps a policy of one number, and fails where told to.

Its policy gives every token the log-probability −`weight`, divided by the temperature.
"""

import asyncio
import json
import random
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
MESSAGES = ({"role": "user", "content": "q"},)
NAME = "base"


def has_weights(folder: str) -> bool:
    return any(Path(folder).glob("*.safetensors"))


@dataclass
class FakeVllm:
    """Serves inside `async with`."""

    weight: float = 1.0
    root: str = ""
    """Where the model that it serves is said to be."""
    raw: bool = False
    """Whether log-probabilities leave the temperature out."""
    paused: bool = False
    adapters: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    """Path and body of each request, in order of arrival."""
    faults: dict[str, deque[Any]] = field(default_factory=lambda: defaultdict(deque))
    """By path: what the next requests meet: a status, "drop", or a function of the answer."""
    held: asyncio.Event | None = None
    """Chat requests wait for it, where it is given."""
    url: str = ""
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._meet])
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/load_lora_adapter", self._load)
        app.router.add_post("/v1/unload_lora_adapter", self._unload)
        app.router.add_post("/pause", self._pause)
        app.router.add_post("/resume", self._resume)
        app.router.add_get("/is_paused", self._is_paused)
        app.router.add_post("/reset_prefix_cache", self._reset)
        app.router.add_post("/collective_rpc", self._reload)
        app.router.add_get("/get_world_size", self._world)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def arrived(self, count: int, path: str = "") -> None:
        """Wait until so many requests (for `path`) have come."""
        while sum(not path or path == one for one in self.paths()) < count:
            self._came.clear()
            await self._came.wait()

    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [path for path, _ in self.asked]

    def fail(self, path: str, *how: Any) -> None:
        """Let the next requests for `path` meet these faults, one each."""
        self.faults[path].extend(how)

    @web.middleware
    async def _meet(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        text = await request.text()
        self.asked.append((request.path, json.loads(text) if text else None))
        self._came.set()
        waiting = self.faults[request.path]
        fault = waiting.popleft() if waiting else None
        if fault == "drop":
            assert request.transport is not None
            request.transport.abort()
        if isinstance(fault, int):
            return web.json_response({"error": {"message": "scripted"}}, status=fault)
        if isinstance(fault, web.Response):
            return fault
        if isinstance(fault, asyncio.Event):
            await fault.wait()
        response = await handler(request)
        if callable(fault):
            assert isinstance(response, web.Response)
            body = json.loads(response.text or "null")
            return web.json_response(fault(body) or body)
        return response

    async def _chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["model"] not in (NAME, *self.adapters):
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        if self.held:
            await self.held.wait()
        choices = [self._choice(body, at) for at in range(body.get("n", 1))]
        return web.json_response({"choices": choices, "prompt_token_ids": [1, 2, 3]})

    def _choice(self, body: dict[str, Any], at: int) -> dict[str, Any]:
        draw = random.Random(f"{body['seed'] + at} {body['messages']}")
        ids = [draw.randrange(9) for _ in range(min(body["max_tokens"], 1 + draw.randrange(6)))]
        logprob = -self.weight / (1.0 if self.raw else body["temperature"])
        one = {"token": "x", "logprob": logprob, "top_logprobs": []}
        return {
            "index": at,
            "finish_reason": "stop",
            "message": {"content": " ".join(map(str, ids))},
            "token_ids": ids,
            "logprobs": {"content": [one for _ in ids]},
        }

    async def _models(self, request: web.Request) -> web.Response:
        cards = [{"id": NAME, "root": self.root}]
        cards += [{"id": name, "root": root} for name, root in self.adapters.items()]
        return web.json_response({"data": cards})

    async def _load(self, request: web.Request) -> web.Response:
        body = await request.json()
        name, path = body["lora_name"], body["lora_path"]
        if name in self.adapters:
            reason = f"The lora adapter '{name}' has already been loaded."
            return web.json_response({"error": {"message": reason}}, status=400)
        assert (Path(path) / "adapter_config.json").is_file()
        self.adapters[name] = path
        return web.Response(text="Success")

    async def _unload(self, request: web.Request) -> web.Response:
        if self.adapters.pop((await request.json())["lora_name"], None) is None:
            return web.json_response({"error": {"message": "not found"}}, status=404)
        return web.Response(text="Success")

    async def _pause(self, request: web.Request) -> web.Response:
        self.paused = True
        return web.json_response({"status": "paused"})

    async def _resume(self, request: web.Request) -> web.Response:
        self.paused = False
        return web.json_response({"status": "resumed"})

    async def _is_paused(self, request: web.Request) -> web.Response:
        return web.json_response({"is_paused": self.paused})

    async def _reset(self, request: web.Request) -> web.Response:
        return web.json_response({"success": True})

    async def _reload(self, request: web.Request) -> web.Response:
        assert self.paused
        assert has_weights((await request.json())["kwargs"]["weights_path"])
        return web.json_response({"results": [None]})

    async def _world(self, request: web.Request) -> web.Response:
        return web.json_response({"world_size": 1})
