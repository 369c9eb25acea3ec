"""What a run's view knows: iterations, candidates, banks and spend, taken in event by event."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from tmas_graph.cli.report import spend
from tmas_graph.records import Record


class Load(Protocol):
    """What the endpoints of the process are doing."""

    @property
    def in_flight(self) -> int:
        """Requests that were sent and not answered yet."""

    @property
    def waiting(self) -> int:
        """Requests that may not be sent yet."""


def no_load() -> Load | None:
    """Nothing is known."""
    return None


@dataclass(slots=True)
class Iteration:
    """What is known of one iteration so far."""

    modes: list[str]
    candidates: dict[int, dict[str, Any]] = field(default_factory=dict)
    learned: int | None = None
    strategies: int | None = None
    standing: dict[str, Any] | None = None


class View:
    """Collects the events of a run; shows nothing itself."""

    def __init__(self, *, load: Callable[[], Load | None] = no_load) -> None:
        """Begin with nothing seen; `load` says what the endpoints are doing."""
        self.already = False
        """Whether the run had ended before, so that nothing was left to do."""
        self._load = load
        self.iterations: dict[int, Iteration] = {}
        self.record: Record | None = None
        self._since = time.monotonic()

    def __enter__(self) -> Self:
        """Begin to show."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Stop showing."""

    def begin(self, record: Record) -> None:
        """The run of `record` begins."""
        self.record = record
        self.show({"event": "begin"})

    def on_event(self, event: Any) -> None:
        """Take in an event and show what it changed."""
        if event["event"] == "already":
            self.already = True
            return
        if event["event"] == "memory":
            return  # it is logged as a warning, too, which Python shows
        kind, t = event["event"], event.get("iteration", 0)
        seen = self.iterations.setdefault(t, Iteration(event.get("modes", [])))
        if kind == "iteration":
            seen.modes = event["modes"]
        elif kind in ("started", "candidate"):
            seen.candidates[event["index"]] = dict(event)
        elif event.get("off"):
            pass
        elif kind == "experience":
            seen.learned = len(event["added"])
        elif kind == "guideline":
            seen.strategies = len(event["added"])
        elif kind == "standing":
            seen.standing = dict(event)
        self.show(event)

    def show(self, event: Any) -> None:
        """Show what `event` changed."""

    def spent(self) -> str:
        """What was spent so far, on unfinished candidates too, in words."""
        calls, tokens, cost = 0, 0, 0.0
        for seen in self.iterations.values():
            if seen.standing:  # it counts what came before it, too
                calls, tokens, cost = (seen.standing[n] for n in ("calls", "tokens", "cost"))
                continue
            for candidate in seen.candidates.values():
                calls += candidate["calls"]
                tokens += candidate["tokens"]
                cost += candidate["cost"]
        return spend(calls, tokens, cost)

    def load(self) -> str:
        """` · 3 in flight, 2 waiting`, or nothing while the endpoints are idle."""
        load = self._load()
        if load is None or not (load.in_flight or load.waiting):
            return ""
        return f" · {load.in_flight:,} in flight, {load.waiting:,} waiting"
