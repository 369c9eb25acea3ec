"""The view of a run of many problems: accuracy so far, spend, calls in flight, time left."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tmas_graph.cli.counting import counted
from tmas_graph.cli.plain import line, words
from tmas_graph.cli.report import money, spend

if TYPE_CHECKING:
    from tmas_graph.evaluation.run_rows import Row
    from tmas_graph.evaluation.run_standing import MethodStanding, RunStanding
    from tmas_graph.evaluation.scheduling import Load

_HEADS = ("method", "done", "failed", "accuracy so far", "calls", "tokens", "cost")
_SUMMARIES = 20
"""About so many summary lines a run has where nothing can be drawn anew."""


class RunView:
    """Shows a run on a console: drawn anew on a terminal, else line by line."""

    def __init__(
        self, console: Console, load: "Callable[[], Load]", *, quiet: bool = False
    ) -> None:
        """Print to `console`, or nothing if `quiet`; `load` says what the endpoints are doing."""
        self._console, self._load, self._quiet = console, load, quiet
        self._standing: RunStanding | None = None
        self._ended = 0

    def shown(self) -> AbstractContextManager[Any]:
        """Draw inside `with`, where there is a terminal."""
        if self._quiet or not self._console.is_terminal:
            return nullcontext()
        return Live(console=self._console, get_renderable=self.picture, refresh_per_second=4)

    def begun(self, standing: "RunStanding") -> None:
        """Take in how the run stands; it changes while the run goes on."""
        self._standing = standing
        left = standing.total - standing.done
        kept = f", {standing.done:,} done before" if standing.done else ""
        self._say(f"{counted(left, 'problem')} × method to do{kept}")

    def ended(self, rows: "Sequence[Row]") -> None:
        """A problem ended with a method."""
        last = rows[-1]
        cause = f": {line(last.cause)}" if last.cause else ""
        status = "failed" if last.outcome == "failed" else last.selected.status
        answer = f", answer {line(last.selected.answer)[:40]}" if last.selected.answer else ""
        spent = sum(row.spent.calls for row in rows)
        where = f"{last.problem} {last.method}"
        self._say(f"  {where}: {status}{answer} · {counted(spent, 'call')}{cause}")
        self._ended += 1
        standing = self._standing
        if standing and self._ended % max(10, standing.total // _SUMMARIES) == 0:
            self._say(self.foot())

    def _say(self, text: str) -> None:
        if not self._quiet and not self._console.is_terminal:
            self._console.print(words(text), soft_wrap=True)

    def picture(self) -> RenderableType:
        """The run as it stands."""
        if self._standing is None:
            return Text("starting…", style="dim")
        notes = [words(note, "yellow") for note in self._standing.notes]
        return Group(table_of(self._standing), *notes, words(self.foot(), "dim"))

    def foot(self) -> str:
        """What is done, what is in flight, and how long the rest takes."""
        standing = self._standing
        if standing is None:
            return ""
        load, spent = self._load(), standing.purse.spent
        left = standing.seconds_left
        parts = [
            f"{standing.done:,}/{standing.total:,} done",
            spend(spent.calls, spent.tokens, spent.cost),
            f"{load.in_flight:,} in flight, {load.waiting:,} waiting, {load.allowed:,} allowed",
            duration(standing.seconds) + (f", about {duration(left)} left" if left else ""),
        ]
        return " · ".join(parts)


def table_of(standing: "RunStanding") -> Table:
    """A row for each method."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in _HEADS:
        table.add_column(head, justify="left" if head == "method" else "right", no_wrap=True)
    for label, method in standing.methods.items():
        spent = method.purse.spent
        table.add_row(
            words(label),
            f"{method.done:,}/{method.total:,}",
            f"{method.failed:,}" if method.failed else "",
            accuracy(method),
            f"{spent.calls:,}",
            f"{spent.tokens:,}",
            money(spent.cost) if spent.cost else "",
        )
    return table


def accuracy(method: "MethodStanding") -> str:
    """Its share of right answers in percent, with its standard error."""
    if method.accuracy is None:
        return "–"
    error = method.standard_error
    return f"{method.accuracy:.1%}" + ("" if error is None else f" ± {100 * error:.1f}")


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60:,} h {minutes % 60} min"
