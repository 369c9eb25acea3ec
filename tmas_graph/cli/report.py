"""How a run began and ended, in words."""

from pathlib import Path

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from tmas_graph.cli.counting import counted
from tmas_graph.cli.options import named
from tmas_graph.cli.plain import words
from tmas_graph.records import Record
from tmas_graph.settings import Settings
from tmas_graph.state import Result
from tmas_graph.usage import Usage, summed

STOPS = {
    "iterations": "all iterations done",
    "confident": "stopped early: the answer is well ahead and well verified",
    "budget": "the budget is spent",
}


def headline(record: Record) -> str:
    """The run's shape in a line, with its method where that isn't TMAS."""
    settings, rival = record.settings, not record.method.startswith("tmas")
    where = settings.base_url or f"local model {settings.local_model}"
    model = f" · {settings.model}" if settings.model else ""
    method = "" if record.method == "tmas" else f"{record.method} · "
    shape = f"N {settings.candidates} · M {settings.verifications} · T {settings.iterations}"
    epsilon = "" if rival else f" · ε {settings.epsilon:g}"
    return f"{method}{shape}{epsilon} · {where}{model}"


def report(
    console: Console, record: Record, result: Result, home: Path, *, already: bool = False
) -> None:
    """Print the solution, then the answer and what speaks for it.

    Args:
        console: where to.
        record: what ran.
        result: how it ended.
        home: the state folder that it is in.
        already: whether it had ended before, so that nothing was left to do.
    """
    if result.solution:
        console.print(Panel(words(result.solution), title="solution", title_align="left"))
    lines = [words(_verdict(record, result), "bold")]
    if result.score is not None:
        lines.append(Text(f"mean score of this solution: {result.score:.2f}"))
    usage = result.usage
    spent = spend(usage.calls, usage.tokens, usage.cost)
    done = counted(result.iterations, "iteration")
    lines.append(Text(f"{done} · {spent} · {STOPS[result.stop]}"))
    if hint := _too_short(record, result):
        lines.append(Text(hint, style="yellow"))
    if already or result.stop == "budget":
        lines.append(words(_more(record, result, home, already), "yellow"))
    lines.append(words(f"thread {record.id} · tmas show {named(record.id, home)}", "dim"))
    console.print(Group(*lines))


def _verdict(record: Record, result: Result) -> str:
    if record.problem.kind == "proof":
        return "the best proof stands above" if result.solution else "no proof came through whole"
    if result.answer is None and result.stop == "budget":
        return "no answer: the budget was spent before a candidate came through with one"
    if result.answer is None:
        more = "" if _too_short(record, result) else "; allow longer ones: --set max_tokens=…"
        return f"no answer: no candidate gave one{more}"
    return f"answer: {result.answer}   (confidence {result.confidence:.0%})"


def _too_short(record: Record, result: Result) -> str:
    """What to do where most candidates were truncated; nothing to say elsewhere."""
    count, all_of_them = sum(a.outcome == "truncated" for a in result.attempts), result.attempts
    if 2 * count <= len(all_of_them):
        return ""
    own = record.settings.roles.solution.max_tokens is not None
    most = record.settings.endpoint("solution").max_tokens
    limit = "the server's limit" if most is None else f"max_tokens {most}"
    return (
        f"{count} of {counted(len(all_of_them), 'candidate')} truncated at {limit}: "
        f"raise it with --set {'roles.solution.' if own else ''}max_tokens=…"
    )


def _more(record: Record, result: Result, home: Path, already: bool) -> str:
    """How to go on, and why nothing was done where nothing was."""
    begin = "it was done already; nothing was asked again. " if already else ""
    if already and result.stop != "budget" and not record.method.startswith("tmas"):
        return begin.strip()  # what would make it longer, each rival has its own setting for
    if already and result.stop == "budget":
        begin = "nothing was asked: that is spent already. "
    more = f"{named(record.id, home)} {_option(record.settings, result)}"
    return f"{begin}To go on with more: tmas resume {more}"


def _option(settings: Settings, result: Result) -> str:
    """The option that allows more: twice what is spent, or the limit that ended the run."""
    if result.stop == "iterations":
        return f"-T {2 * settings.iterations}"
    if result.stop == "confident":
        return "--set early_stop=false"
    spent = {
        "max_calls": result.usage.calls,
        "max_total_tokens": result.usage.tokens,
        "max_cost": result.usage.cost,
    }
    limits = {name: limit for name in spent if (limit := getattr(settings, name)) is not None}
    reached = {name: limit for name, limit in limits.items() if spent[name] >= limit}
    if not reached and settings.max_seconds is not None:
        reached = {"max_seconds": settings.max_seconds}
    twice = {name: 2 * max(limit, spent.get(name, limit)) for name, limit in reached.items()}
    options = (f"--{name.replace('_', '-')} {limit:g}" for name, limit in twice.items())
    return " ".join(options) or "with a larger budget"


def spend(calls: int, tokens: int, cost: float = 0.0) -> str:
    """What was spent, in a few words; the cost where there are prices."""
    words = f"{counted(calls, 'call')}, {counted(tokens, 'token')}"
    return f"{words}, cost {money(cost)}" if cost else words


def money(cost: float) -> str:
    """A cost in a currency that only the user knows."""
    return f"{cost:,.2f}" if cost >= 100 else f"{cost:.3g}"


def of_roles(rows: dict[str, Usage]) -> tuple[list[str], list[list[str]]]:
    """A table of what each role spent: the columns' heads, and a row for each and for all."""
    heads = ["role", "calls", "prompt", "cached", "completion", "thinking", "cost"]
    total = summed(rows.values())
    body = [
        [
            role,
            *(f"{n:,}" for n in (u.calls, u.prompt_tokens, u.cached_tokens)),
            *(f"{n:,}" for n in (u.completion_tokens, u.reasoning_tokens)),
            money(u.cost),
        ]
        for role, u in {**rows, "all": total}.items()
    ]
    if total.cost:
        return heads, body
    return heads[:-1], [row[:-1] for row in body]
