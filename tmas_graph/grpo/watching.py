"""Shows a training run: a live table in a terminal, plain lines elsewhere."""

from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

COLUMNS = {
    "step": "step",
    "reward": "reward",
    "correct": "correct",
    "loss": "loss",
    "grad_norm": "grad",
    "length": "length",
    "entropy": "entropy",
    "mismatch_kl": "mismatch",
    "nll": "nll",
}
"""What is shown of a step, where it is there, and under which heading."""
_SHOWN = 12


class Watch(Protocol):
    """Told what happens in a run."""

    def record(self, record: Mapping[str, Any]) -> None:
        """Take a line of metrics.jsonl."""
        ...

    def note(self, text: str) -> None:
        """Take a sentence for people."""
        ...


class Unwatched:
    """Shows nothing."""

    def record(self, record: Mapping[str, Any]) -> None:
        """Drop it."""

    def note(self, text: str) -> None:
        """Drop it."""


class View:
    """Draws on `console`; used inside `with`."""

    def __init__(self, console: Console, steps: int) -> None:
        """Show a run of so many steps."""
        self._console = console
        self._steps = steps
        self._rows = deque[Mapping[str, Any]](maxlen=_SHOWN)
        self._latest = dict[str, str]()
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> Self:
        """Begin to draw."""
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the last table standing."""
        if self._live:
            self._live.stop()

    def record(self, record: Mapping[str, Any]) -> None:
        """Show a line of metrics.jsonl."""
        if record["kind"] == "train":
            self._rows.append(record)
        elif record["kind"] in ("held_out", "tmas"):
            self._latest[record["kind"]] = sentence(record)
        if self._live:
            self._live.update(self._drawn(), refresh=True)
        elif record["kind"] != "push":
            self._print(sentence(record))

    def note(self, text: str) -> None:
        """Show a sentence."""
        self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)

    def _drawn(self) -> Group:
        shown = {name: head for name, head in COLUMNS.items() if any(name in r for r in self._rows)}
        table = Table(box=None, pad_edge=False)
        for head in shown.values():
            table.add_column(head, justify="right")
        for record in self._rows:
            table.add_row(*(_number(record.get(name)) for name in shown))
        done = self._rows[-1]["step"] if self._rows else 0
        lines = [Text(line, style="dim") for line in self._latest.values()]
        return Group(table, *lines, Text(f"{done} of {self._steps} steps"))


def sentence(record: Mapping[str, Any]) -> str:
    """Give a line of metrics.jsonl as one line for people."""
    if record["kind"] == "train":
        names = [name for name in COLUMNS if name in record and name != "step"]
        told = [f"{COLUMNS[name]} {_number(record[name])}" for name in names]
    else:
        told = [
            f"{name} {_number(value)}"
            for name, value in record.items()
            if name not in ("step", "kind") and not name.startswith("seconds")
        ]
    kind = {"train": "", "held_out": " held out", "tmas": " TMAS", "push": " push"}[record["kind"]]
    return f"step {record['step']}{kind}: {', '.join(told)}"


def _number(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.4g}"
    return f"{value:g}" if isinstance(value, int | float) else str(value)
