"""`tmas show --calls` and `--call`: what a thread asked its models, and what that cost."""

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from tmas_graph.call_store import SqliteCalls
from tmas_graph.cli.columns import Column, table
from tmas_graph.cli.options import named
from tmas_graph.cli.plain import line, plain, words
from tmas_graph.errors import ThreadError
from tmas_graph.models.call_rows import CallRow, as_unicode, row_of
from tmas_graph.models.calls import Call
from tmas_graph.running import run_blocking
from tmas_graph.threads import look_into
from tmas_graph.usage import Usage, summed

_OF_CANDIDATES = ("solution", "verification", "summary")
_WHERE = re.compile(r"^https?://\S+: ")
"""How a cause begins that names its endpoint, for which a table has no room."""
_LONGEST_TEXT = 200_000
"""Characters of a text that are laid out for a terminal."""
_TOKENS: Sequence[tuple[str, str, int]] = (
    ("prompt", "prompt_tokens", 2),
    ("cached", "cached_tokens", 6),
    ("completion", "completion_tokens", 1),
    ("thinking", "reasoning_tokens", 5),
    ("estimated", "estimated_tokens", 7),
)
"""Columns of tokens: title, field of Usage, rank."""


def show_calls(home: Path, thread: str, *, as_json: bool) -> None:
    """Print a table of all calls of `thread` and what they cost, or their rows as JSON."""

    async def rows() -> list[CallRow]:
        async with _calls(home, thread) as calls:
            return [row async for row in calls.rows()]

    found = run_blocking(rows)
    if as_json:
        plain = [{**asdict(row), "seconds": row.seconds} for row in found]
        print(json.dumps(plain, indent=2))  # noqa: T201
        return
    console = Console()
    if not found:
        console.print(Text(f"No calls in {thread} yet."))
        return
    console.print(table(_columns(found), console.width))
    console.print()
    console.print(table(_sums(found), console.width))
    told = f"tmas show {named(thread, home)} --call ID tells all of one."
    console.print(words(told, "dim"), soft_wrap=True)


def print_lines(home: Path, thread: str) -> None:
    """Print every call of `thread` with its messages, a JSON object a line."""

    async def lines() -> None:
        async with _calls(home, thread) as calls:
            async for call in calls.all():
                print(json.dumps(call.plain()))  # noqa: T201

    run_blocking(lines)


def show_call(home: Path, thread: str, prefix: str, *, as_json: bool) -> None:
    """Print everything about the call of `thread` whose id begins with `prefix`.

    Raises:
        ThreadError: there is no such call, or there are several.
    """

    async def one() -> Call:
        async with _calls(home, thread) as calls:
            return await calls.get(await _found(calls, thread, home, prefix))

    call = run_blocking(one)
    if as_json:
        print(json.dumps(call.plain(), indent=2))  # noqa: T201
    else:
        _print_call(Console(), call)


@asynccontextmanager
async def _calls(home: Path, thread: str) -> AsyncIterator[SqliteCalls]:
    async with look_into(home) as store:
        record = await store.get(thread)
        yield store.calls(record.id)


async def _found(calls: SqliteCalls, thread: str, home: Path, prefix: str) -> str:
    found = await calls.find(prefix) if prefix else []
    if len(found) == 1 or prefix in found:
        return prefix if prefix in found else found[0]
    given = as_unicode(prefix)
    if not prefix:
        raise ThreadError(
            f"--call: it is empty. Give the id of a call, or how it begins; "
            f"`tmas show {named(thread, home)} --calls` lists them."
        )
    if not found:
        raise ThreadError(
            f"--call: no call of {thread} has an id that begins with {given!r}. "
            f"`tmas show {named(thread, home)} --calls` lists them."
        )
    raise ThreadError(f"--call: {given!r} is how {', '.join(found)} begin. Give more of it.")


def _columns(rows: Sequence[CallRow]) -> list[Column]:
    def of(cell: Callable[[CallRow], Any]) -> list[str]:
        return [line(str(cell(row))) for row in rows]

    days = {datetime.fromtimestamp(row.began).date() for row in rows}
    form = "%H:%M:%S" if len(days) == 1 else "%m-%d %H:%M:%S"
    return [
        Column("call", of(lambda row: row.id[:8]), right=False),
        Column("when", of(lambda row: _when(row.began, form)), 8, right=False),
        Column("t.i", of(_place), 3, right=False),
        Column("role", of(lambda row: row.role), right=False),
        Column("purpose", of(_purpose), 5, right=False, optional=True),
        Column("requests", of(lambda row: row.usage.calls), 6),
        *_spending([row.usage for row in rows]),
        Column("seconds", of(lambda row: f"{row.seconds:.1f}"), 2),
        Column("queued", of(lambda row: f"{row.queued:.1f}"), 6, optional=True),
        Column("ending", of(_ending), right=False),
    ]


def _spending(usages: Sequence[Usage]) -> list[Column]:
    tokens = [
        Column(title, [str(getattr(u, name)) for u in usages], rank, optional=title != "completion")
        for title, name, rank in _TOKENS
    ]
    costs = [f"{usage.cost:.4f}" if usage.cost else "" for usage in usages]
    return [*tokens, Column("cost", costs, 4, optional=True)]


def _sums(rows: Sequence[CallRow]) -> list[Column]:
    groups: dict[str, list[CallRow]] = {}
    for row in rows:
        groups.setdefault(row.role, []).append(row)
    for row in sorted(rows, key=lambda row: row.iteration):
        groups.setdefault(f"iteration {row.iteration}", []).append(row)
    groups["all"] = list(rows)
    usages = [summed(row.usage for row in group) for group in groups.values()]
    seconds = [sum(row.seconds for row in group) for group in groups.values()]
    return [
        Column("sum", list(groups), right=False),
        Column("calls", [str(len(group)) for group in groups.values()], 3),
        Column("requests", [str(usage.calls) for usage in usages], 6),
        *_spending(usages),
        Column("seconds", [f"{each:.1f}" for each in seconds]),
    ]


def _print_call(console: Console, call: Call) -> None:
    row = row_of(call)
    said = f"{row.role} {_place(row)} · {call.purpose} · {_ending(row)}"
    console.print(words(f"call {call.id} · {said}", "bold"))
    sampling = {"n": call.n, "seed": call.seed, **call.sampling}
    for name, value in (
        ("model", call.model + (f" (served: {call.served})" if call.served else "")),
        ("endpoint", call.base_url),
        ("sampling", " · ".join(f"{k} {v}" for k, v in sampling.items() if v is not None)),
        ("cost", f"{call.usage.cost:.6f}" if call.usage.cost else ""),
    ):
        if value:
            console.print(Text.assemble((f"{name}: ", "dim"), plain(value)))
    for message in call.messages:
        _print_text(console, message["role"], message["content"], "blue")
    for number, reply in enumerate(call.replies, start=1):
        of_all = f" {number} of {len(call.replies)}" if len(call.replies) > 1 else ""
        if reply.thinking:
            _print_text(console, f"thinking{of_all}", reply.thinking, "dim")
        title = f"reply{of_all} · {reply.ending} ({reply.finish_reason})"
        _print_text(console, title, reply.text or reply.refusal, "green")
    if call.sendings:
        console.print(table(_requests(call), console.width))


def _print_text(console: Console, title: str, text: str, style: str) -> None:
    name, left = Text(line(title)), len(text) - _LONGEST_TEXT
    if left > 0:  # a terminal takes minutes to lay out what a faulty server can send
        text = f"{text[:_LONGEST_TEXT]}\n… {left:,} characters more: --call ID --json prints all."
    console.print(Panel(words(text), title=name, title_align="left", border_style=style))


def _requests(call: Call) -> list[Column]:
    sendings = call.sendings
    return [
        Column("request", [str(number) for number in range(1, len(sendings) + 1)]),
        Column("when", [_when(s.began, "%H:%M:%S") for s in sendings], 3, right=False),
        Column("queued", [f"{s.queued:.1f}" for s in sendings], 4),
        Column("seconds", [f"{s.seconds:.1f}" for s in sendings], 1),
        Column("status", [str(s.status or "–") for s in sendings], 2),
        *_spending([s.usage for s in sendings]),
        Column("outcome", [line(s.outcome) for s in sendings], right=False),
    ]


def _when(seconds: float, form: str) -> str:
    return datetime.fromtimestamp(seconds).strftime(form)


def _place(row: CallRow) -> str:
    """Iteration and candidate; the banks' agents and the judge work on no single candidate."""
    candidate = f".{row.candidate}" if row.role in _OF_CANDIDATES else ""
    return f"{row.iteration}{candidate}"


def _purpose(row: CallRow) -> str:
    return "" if row.purpose == "first" else row.purpose


def _ending(row: CallRow) -> str:
    cause = _WHERE.sub("", row.cause)
    parts = [cause if row.outcome == "failed" and cause else row.outcome]
    if 0 < row.replies < row.n:
        parts.append(f"{row.replies} of {row.n} came")
    if row.cut:
        parts.append("cut " + ", ".join(f"{count} {what}" for what, count in row.cut.items()))
    return " · ".join(parts)
