"""The view of a run: iterations, candidates, scores, answers, banks and spend, as they happen."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, get_args

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tmas_graph.cli.counting import counted
from tmas_graph.cli.plain import line, words
from tmas_graph.cli.report import headline
from tmas_graph.cli.view import Iteration, Load, View, no_load
from tmas_graph.state import Outcome

_MODES = {"initial": "white", "exploit": "cyan", "explore": "magenta"}
_BOXES = {1.0: ("■", "green"), 0.5: ("◧", "yellow"), 0.0: ("□", "red"), None: ("·", "dim")}
_MARKS = {"initial": "○", "exploit": "●", "explore": "◆"}
_LONGEST_ANSWER = 30
_OVER = frozenset(get_args(Outcome)) - {"open", "finished"}
"""Outcomes of candidates that came to nothing."""


class PlainView(View):
    """A line for each thing that happened, for logs and pipes."""

    def __init__(self, console: Console, *, load: Callable[[], Load | None] = no_load) -> None:
        """Print to `console`."""
        super().__init__(load=load)
        self._console = console

    def show(self, event: Any) -> None:
        """Print a line for `event`, if it is worth one."""
        said = self._line(event)
        if said:
            self._console.print(words(said), soft_wrap=True)

    def _line(self, event: Any) -> str:
        kind, t = event["event"], event.get("iteration", 0)
        if kind == "begin" and self.record:
            return f"thread {self.record.id} · {headline(self.record)}"
        if kind == "iteration":
            counts = {m: event["modes"].count(m) for m in _MODES if m in event["modes"]}
            return f"iteration {t}: " + ", ".join(f"{n} {m}" for m, n in counts.items())
        if kind == "candidate" and event["outcome"] != "open":
            return f"  {t}.{event['index']} {event['mode']}: {_ending(event)}{self.load()}"
        if kind in ("experience", "guideline") and not event.get("off"):
            what = "new item" if kind == "experience" else "new strategy"
            more = f"; not updated: {line(event['cause'])}" if event.get("cause") else ""
            known = f", {len(event['repeated'])} tried again" if event.get("repeated") else ""
            return f"  {kind} bank: {counted(len(event['added']), what)}{known}{more}"
        if kind == "borrowed":
            shown = counted(event["count"], "item")
            return f"  library: {shown} of other problems {_are(event['count'])} shown next"
        if kind == "standing":
            return f"  leading: {_leading(event)} · {self.spent()}"
        return ""


class LiveView(View):
    """A picture of the run that is drawn anew as it changes."""

    def __init__(
        self,
        console: Console,
        seconds: Callable[[], float] | None = None,
        *,
        load: Callable[[], Load | None] = no_load,
    ) -> None:
        """Draw on `console`; `seconds` says how long the run takes so far."""
        super().__init__(load=load)
        self._seconds = seconds or (lambda: time.monotonic() - self._since)
        self._live = Live(
            console=console, get_renderable=self.picture, refresh_per_second=8, transient=False
        )

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """Draw once more and leave the picture."""
        self._live.__exit__(kind, error, at)

    def picture(self) -> RenderableType:
        """The run as it stands."""
        if self.record is None:
            return Text("starting…", style="dim")
        question = " ".join(self.record.problem.question.split())
        head = words(question[:400], "bold")
        sub = words(headline(self.record), "dim")
        foot = Text(f"{self.spent()} · {self._seconds():.0f} s{self.load()}", style="dim")
        gap, key = Text(), _legend()
        tables: list[RenderableType] = [gap, self._iterations(), gap, self._candidates(), gap]
        parts: list[RenderableType] = [head, sub, *tables, foot, key]
        return Panel(Group(*parts), title=f"TMAS · {self.record.id}", title_align="left")

    def _iterations(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0))
        learns, lists = self._banks()
        banks = [*(["experience"] if learns else []), *(["strategies"] if lists else [])]
        for column in ("t", "modes", "score", *banks, "leading answer", "share"):
            table.add_column(column, header_style="dim", overflow="ellipsis", no_wrap=True)
        for t, seen in sorted(self.iterations.items())[-self._rows() :]:
            standing = seen.standing or {}
            table.add_row(
                str(t),
                _mode_marks(seen.modes),
                _mean(seen),
                *([_plus(seen.learned)] if learns else []),
                *([_plus(seen.strategies)] if lists else []),
                Text(_short(standing.get("answer")) or ("–" if standing else "…")),
                f"{standing['share']:.0%}" if standing else "",
            )
        return table

    def _banks(self) -> tuple[bool, bool]:
        """Whether experience and whether strategies are kept."""
        assert self.record is not None, "nothing is drawn before a run begins"
        return self.record.settings.experience, self.record.settings.guideline

    def _rows(self) -> int:
        """How many iterations there is room for; the candidates of the last one come first."""
        candidates = len(self.iterations[max(self.iterations)].modes) if self.iterations else 0
        return max(2, self._live.console.height - candidates - 11)

    def _candidates(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0))
        if not self.iterations:
            return table
        t = max(self.iterations)
        seen = self.iterations[t]
        for column in ("candidate", "mode", "now", "checks", "answer"):
            table.add_column(column, header_style="dim", overflow="ellipsis", no_wrap=True)
        for index, mode in enumerate(seen.modes):
            event = seen.candidates.get(index)
            table.add_row(
                f"{t}.{index}",
                Text(mode, style=_MODES.get(mode, "")),
                Text(_now(event), style="dim"),
                _boxes(event["scores"] if event else []),
                Text(_short(event["answer"]) if event else ""),
            )
        return table


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _ending(event: Any) -> str:
    if event["outcome"] in _OVER:
        cause = f" ({line(event['cause'])})" if event["cause"] else ""
        return f"{event['outcome']}{cause}"
    answer = f", answer {_short(event['answer'])}" if event["answer"] else ""
    return f"checks {_boxes(event['scores']).plain or '–'}{answer}"


def _now(event: Any) -> str:
    if event is None:
        return "waits"
    if event["outcome"] == "finished":
        return "done"
    if event["outcome"] in _OVER:
        return str(event["outcome"])
    if event["scores"]:
        return "summing up"
    return "being checked" if event["solved"] else "solving"


def _leading(event: Any) -> str:
    score = "" if event["score"] is None else f", score {event['score']:.2f}"
    return f"{_short(event['answer']) or '–'} ({event['share']:.0%}{score})"


def _short(answer: str | None) -> str:
    # A long answer would take the room of the other columns.
    text = line(answer or "")
    return text if len(text) <= _LONGEST_ANSWER else text[: _LONGEST_ANSWER - 1] + "…"


def _boxes(scores: list[float | None]) -> Text:
    text = Text()
    for score in scores:
        mark, style = _BOXES.get(score, _BOXES[None])
        text.append(mark, style)
    return text


def _mode_marks(modes: list[str]) -> Text:
    text = Text()
    for mode in modes:
        text.append(_MARKS[mode], _MODES[mode])
    return text


def _legend() -> Text:
    text = Text()
    for mode, mark in _MARKS.items():
        text.append(mark, _MODES[mode]).append(f" {mode}  ", "dim")
    for score, meaning in ((1.0, "right"), (0.5, "partly"), (0.0, "wrong"), (None, "unreadable")):
        mark, style = _BOXES[score]
        text.append(mark, style).append(f" {meaning}  ", "dim")
    return text


def _mean(seen: Iteration) -> str:
    known = [s for c in seen.candidates.values() for s in c["scores"] if s is not None]
    return f"{sum(known) / len(known):.2f}" if known else ""


def _plus(count: int | None) -> str:
    return "" if count is None else f"+{count}"
