"""How a run began and ended, in words."""

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from tmas_graph.records import Record
from tmas_graph.settings import Settings
from tmas_graph.state import Result

_STOPS = {
    "iterations": "all iterations done",
    "confident": "stopped early: the answer is well ahead and well verified",
    "budget": "the budget is spent",
}


def headline(settings: Settings) -> str:
    """The run's shape in a line."""
    where = settings.base_url or f"local model {settings.local_model}"
    model = f" · {settings.model}" if settings.model else ""
    return (
        f"N {settings.candidates} · M {settings.verifications} · T {settings.iterations} · "
        f"ε {settings.epsilon:g} · {where}{model}"
    )


def report(console: Console, record: Record, result: Result) -> None:
    """Print the solution, then the answer and what speaks for it."""
    if result.solution:
        console.print(Panel(Text(result.solution), title="solution", title_align="left"))
    lines = [Text(_verdict(record, result), style="bold")]
    if result.score is not None:
        lines.append(Text(f"mean score of this solution: {result.score:.2f}"))
    spent = spend(result.usage.calls, result.usage.tokens)
    lines.append(Text(f"{result.iterations} iterations · {spent} · {_STOPS[result.stop]}"))
    lines.append(Text(f"thread {record.id} · tmas show {record.id}", style="dim"))
    console.print(Group(*lines))


def _verdict(record: Record, result: Result) -> str:
    if record.problem.kind == "proof":
        return "the best proof stands above" if result.solution else "no proof came through whole"
    if result.answer is None:
        return "no answer: no candidate gave one; allow longer replies with --set max_tokens=…"
    return f"answer: {result.answer}   (confidence {result.confidence:.0%})"


def spend(calls: int, tokens: int) -> str:
    """What was spent, in a few words."""
    return f"{calls:,} calls, {tokens:,} tokens"
