"""Serves an application of aiohttp, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web


@asynccontextmanager
async def serving(application: web.Application, **options: Any) -> AsyncIterator[str]:
    """The root URL of a server of it on a free port; `options` are those of its runner."""
    runner = web.AppRunner(application, access_log=None, **options)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
