"""`tmas show`: what happened in a thread, and what is in its memory."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tmas_graph.cli import banks
from tmas_graph.cli.options import Home, Json, home_of
from tmas_graph.usage import Usage


def show(
    thread: Annotated[str, typer.Argument(help="Its name; `tmas threads` lists them.")],
    calls: Annotated[
        bool, typer.Option("--calls", help="List its model calls, and what they cost.")
    ] = False,
    call: Annotated[
        str | None,
        typer.Option("--call", metavar="ID", help="All of one call; how its id begins is enough."),
    ] = None,
    as_json: Json = False,
    as_jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help="With --calls: all of each call, a JSON object a line."),
    ] = False,
    home: Home = None,
) -> None:
    """Show a thread: its problem, every candidate, both banks, and the result."""
    if calls and call is not None:
        raise typer.BadParameter("give --calls or --call ID, not both")
    if as_jsonl and (as_json or not calls):
        raise typer.BadParameter("--jsonl goes with --calls, and not with --json")
    folder = home_of(home)
    if calls or call is not None:
        from tmas_graph.cli import calls as views

        if as_jsonl:
            views.print_lines(folder, thread)
        elif call is not None:
            views.show_call(folder, thread, call, as_json=as_json)
        else:
            views.show_calls(folder, thread, as_json=as_json)
        return
    from tmas_graph.running import run_blocking

    story = run_blocking(lambda: _story(folder, thread))
    if as_json:
        print(json.dumps(story, indent=2))  # noqa: T201
    else:
        _print(story)


async def _story(folder: Path, name: str) -> dict[str, Any]:
    from tmas_graph.cli.threads import status_of
    from tmas_graph.graph import GRAPH_VERSION
    from tmas_graph.memory.borrowing import borrowed_of
    from tmas_graph.memory.ledger import ledger_of
    from tmas_graph.memory.retrieval import noted
    from tmas_graph.progress import attempt_of, attempts, current
    from tmas_graph.recovery import texts_of
    from tmas_graph.spending import account
    from tmas_graph.threads import look_into

    async with look_into(folder) as store:
        record = await store.get(name)
        values = await store.values(record.id)
        status = status_of(record, store)
        ledger = ledger_of(values.get("experience", ()))
        ids = [entry.id for entry in ledger]
        items = await texts_of(record.settings, ids, store.saver, record.id)
    experience = noted(ledger, items)
    begun = map(attempt_of, current(values)) if values else ()
    tried, spends = (*attempts(values), *begun), account(values)
    result = values.get("result")
    if result and "history" not in values:  # of another method only the result is kept
        tried, spends = result.attempts, result.spend
    return {
        "thread": record.id,
        "status": status,
        "cause": record.cause,
        "method": record.method,
        "problem": asdict(record.problem),
        "settings": record.settings.model_dump(mode="json"),
        "models": dict(record.models),
        "attempts": [asdict(a) for a in tried],
        "rollouts": [asdict(r) for r in values.get("rollouts", ())],
        "experience": banks.items(experience, tried),
        "borrowed": banks.borrowed(borrowed_of(values.get("borrowed", ()))),
        "strategies": banks.strategies(values.get("strategies", ())),
        "spend": [asdict(s) for s in spends] if record.version == GRAPH_VERSION else [],
        "result": asdict(result) if result else None,
    }


def _print(story: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    from tmas_graph.cli.plain import line, words

    console = Console()
    title = f"{story['thread']} · {story['status']}"
    console.print(Panel(words(story["problem"]["question"]), title=title, title_align="left"))
    if story["cause"]:
        console.print(words(f"stopped: {story['cause']}", "red"))
    models = sorted(set(map(line, story["models"].values())))
    method = f"method: {story['method']} · models: {', '.join(models)}"
    console.print(Text(method, style="dim"))
    console.print(_attempts(story["attempts"]))
    if story["spend"]:
        console.print(_spend(story["spend"]))
    if story["method"].startswith("tmas"):
        banks.print_all(console, story)
    if result := story["result"]:
        _print_result(console, result)


def _print_result(console: Any, result: dict[str, Any]) -> None:
    from rich.panel import Panel

    from tmas_graph.cli.counting import counted
    from tmas_graph.cli.plain import words
    from tmas_graph.cli.report import STOPS, spend

    if result["solution"]:
        console.print(Panel(words(result["solution"]), title="solution", title_align="left"))
    if result["answer"] is not None:
        said = f"answer: {result['answer']}   (confidence {result['confidence']:.0%})"
        console.print(words(said, "bold"))
    usage = Usage(**result["usage"])
    done = counted(result["iterations"], "iteration")
    spent = spend(usage.calls, usage.tokens, usage.cost)
    console.print(f"{done} · {spent} · {STOPS[result['stop']]}")


def _attempts(attempts: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    from tmas_graph.cli.plain import words

    table = Table(title="Candidates")
    for column in ("candidate", "mode", "outcome", "score", "answer"):
        table.add_column(column, overflow="fold")
    for attempt in attempts:
        score = "–" if attempt["score"] is None else f"{attempt['score']:.2f}"
        name = f"{attempt['iteration']}.{attempt['index']}"
        cells = [name, attempt["mode"], attempt["outcome"], score, attempt["answer"] or "–"]
        table.add_row(*map(words, cells))
    return table


def _spend(rows: list[dict[str, Any]]) -> Any:
    from rich.table import Table

    from tmas_graph.cli.report import of_roles

    by_role: dict[str, Usage] = {}
    for row in rows:
        before = by_role.get(row["role"], Usage())
        by_role[row["role"]] = before + Usage(**row["usage"])
    heads, body = of_roles(by_role)
    table = Table(title="Spend")
    for head in heads:
        table.add_column(head, justify="left" if head == "role" else "right", overflow="fold")
    for cells in body:
        table.add_row(*cells)
    return table
