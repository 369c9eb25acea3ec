"""Spans of a sample's transcript that stay open while others work within them.

inspect's span belongs to the task that opens it, and a run makes its calls in tasks of its own:
so a small task holds each span open, and work is done in a copy of that task's context.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import Context, copy_context
from typing import Any, TypeVar

from inspect_ai.log import transcript
from inspect_ai.util import span

from tmas_graph.models.calls import Place

_T = TypeVar("_T")
_Path = tuple[str, ...]


class Spans:
    """One span for each iteration of a run and, within it, one for each role."""

    def __init__(self) -> None:
        """Open spans within the one in which this is called."""
        self._outer = copy_context()
        self._held: dict[_Path, _Held] = {}

    async def run(self, place: Place, work: Coroutine[Any, Any, _T]) -> _T:
        """Do `work` within the span of the iteration and role of `place`."""
        context = await self._context((_iteration(place.iteration), place.role))
        return await asyncio.create_task(work, context=context.copy())

    def tell(self, event: dict[str, Any]) -> None:
        """Write `event` into the transcript: within its iteration, where that has a span."""
        held = self._held.get((_iteration(event["iteration"]),))
        context = (held and held.entered) or self._outer
        context.copy().run(lambda: transcript().info(event, source="tmas"))

    def close(self, iteration: int) -> None:
        """End the spans of `iteration`; they end as soon as the event loop comes to it."""
        name = _iteration(iteration)
        for path in reversed([path for path in self._held if path[0] == name]):
            self._held[path].end()

    async def aclose(self) -> None:
        """End all spans, the inner ones first."""
        held = list(reversed(self._held.values()))
        for each in held:  # all before the first wait, which a cancelled sample doesn't outlast
            each.end()
        for each in held:
            await each.ended()

    async def _context(self, path: _Path) -> Context:
        if path not in self._held:
            outer = await self._context(path[:-1]) if path[1:] else self._outer
            if path not in self._held:  # unless it was opened meanwhile
                self._held[path] = _Held(path, outer)
        return await self._held[path].context()


def _iteration(number: int) -> str:
    return f"iteration {number}"


class _Held:
    """A span, and the task that holds it open."""

    def __init__(self, path: _Path, outer: Context) -> None:
        """Open the span named last in `path`, within the context `outer`."""
        self.entered: Context | None = None
        self._open, self._end = asyncio.Event(), asyncio.Event()
        kind = "role" if path[1:] else "iteration"
        self._task = asyncio.create_task(self._hold(path[-1], kind), context=outer.copy())

    async def _hold(self, name: str, kind: str) -> None:
        async with span(name, type=kind):
            self.entered = copy_context()
            self._open.set()
            await self._end.wait()

    async def context(self) -> Context:
        """The context within it."""
        await self._open.wait()
        assert self.entered is not None, "it is set before the span says that it is open"
        return self.entered

    def end(self) -> None:
        """Let it end."""
        self._end.set()

    async def ended(self) -> None:
        """Wait until it has ended."""
        await self._task
