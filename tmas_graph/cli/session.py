"""What `tmas solve` and `tmas resume` share: check the endpoints, run, watch, report."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from tmas_graph.cli.ending import INTERRUPTED
from tmas_graph.cli.live import LiveView, PlainView
from tmas_graph.cli.models import progress_bar
from tmas_graph.cli.options import named
from tmas_graph.cli.plain import complain, words
from tmas_graph.cli.report import report
from tmas_graph.cli.telemetry import exporting
from tmas_graph.cli.view import View
from tmas_graph.configuration import adjusted, with_keys
from tmas_graph.errors import TmasError
from tmas_graph.evaluation.grading import Graded, graded, judge_of
from tmas_graph.models import local, pool
from tmas_graph.prompts import Prompts
from tmas_graph.records import Record, differences, made_with, refuse_changes, refuse_other_version
from tmas_graph.running import ready, run_blocking
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, Result
from tmas_graph.threads import ThreadStore, look_into, open_threads, refuse_second_writer

DEMONSTRATION = (
    "This local model is a demonstration: it shows every step of the method, and its answers "
    "mean little. Set base_url (or --base-url) to use a real one."
)
_Prepare = Callable[[ThreadStore], Awaitable[Record]]


def start(
    problem: Problem,
    settings: Settings,
    home: Path,
    *,
    as_json: bool,
    gold: str | None = None,
    method: str = "tmas",
) -> None:
    """Run a new thread for `problem` and print how it ended, graded where `gold` is known."""
    refuse_second_writer(settings, home, method)
    start_local_models(settings)

    async def prepare(store: ThreadStore) -> Record:
        models = await ready(settings)
        return await store.create(problem, settings, models, method)

    _run(home, prepare, settings, as_json=as_json, gold=gold)


def go_on(
    name: str,
    changes: dict[str, Any],
    keys: Settings,
    home: Path,
    *,
    accept_changes: bool,
    as_json: bool,
) -> None:
    """Let thread `name` go on with `changes`, and print how it ended."""

    async def prepare(store: ThreadStore) -> Record:
        record = await store.get(name)
        refuse_other_version(record)
        settings = with_keys(adjusted(record.settings, changes, "command line"), keys)
        refuse_second_writer(settings, home, record.method)
        await asyncio.to_thread(start_local_models, settings)
        models = await ready(settings)
        if not accept_changes:
            refuse_changes(record, differences(record, settings, models))
        return made_with(record, settings, models)

    _run(home, prepare, keys, as_json=as_json, opened=look_into)


def uses_local_model(settings: Settings) -> bool:
    """Whether some role runs on a model inside this process."""
    return any(settings.endpoint(role).base_url is None for role in settings.roles_in_use)


def start_local_models(settings: Settings) -> None:
    """Fetch the local models that are missing, with a progress bar, and start their servers."""
    endpoints = [settings.endpoint(role) for role in settings.roles_in_use]
    for name in sorted({e.local_model for e in endpoints if e.base_url is None}):
        with progress_bar(name) as progress:
            local.start(name, progress=progress)


def _run(
    home: Path,
    prepare: _Prepare,
    settings: Settings,
    *,
    as_json: bool,
    gold: str | None = None,
    opened: Callable[[Path], AbstractAsyncContextManager[ThreadStore]] = open_threads,
) -> None:
    console = Console(stderr=as_json)
    view: View = _view_on(console)
    if as_json and not console.is_terminal:
        view = View()
    begun: list[Record] = []

    async def work() -> Result:
        async with opened(home) as store:
            record = await prepare(store)
            begun.append(record)
            view.begin(record)
            with exporting(record.settings):
                return await store.run(record, on_event=view.on_event)

    try:
        with view:
            result = run_blocking(work)
    except KeyboardInterrupt:
        go_on = f"; `tmas resume {named(begun[0].id, home)}` goes on" if begun else ""
        complain(f"interrupted{go_on}")
        raise typer.Exit(INTERRUPTED) from None
    except TmasError as error:
        _say_how_to_resume(str(error), begun, home)
        raise typer.Exit(2) from None
    if not as_json:
        report(console, begun[0], result, home, already=view.already)
    grade = {} if gold is None else _grade(begun[0].problem, result, gold, settings)
    if as_json:
        print(json.dumps({**_plain(begun[0], result), **grade}, indent=2))  # noqa: T201
    else:
        if grade:
            console.print(words(" · ".join(f"{k}: {v}" for k, v in grade.items() if v)))
        if uses_local_model(begun[0].settings):
            console.print(Text(DEMONSTRATION, style="yellow"))


def _view_on(console: Console) -> View:
    kind = LiveView if console.is_terminal else PlainView
    return kind(console, load=pool.load)


def _grade(problem: Problem, result: Result, gold: str, settings: Settings) -> dict[str, str]:
    """What the gold answer is and what the grader says of the run's; never the run's loss."""
    if result.answer is None:
        return {"gold": gold, "verdict": "unanswered", "cause": ""}

    async def work() -> Graded:
        pred, question = rf"\boxed{{{result.answer}}}", problem.question
        model = await judge_of(settings) if settings.judge else None
        prompts = Prompts.of(settings)
        return await graded(pred, gold, question=question, judge_by=model, prompts=prompts)

    try:
        done = run_blocking(work)
    except TmasError as error:
        return {"gold": gold, "verdict": "error", "cause": str(error)}
    said = {"gold": gold, "verdict": done.verdict.outcome, "cause": done.verdict.cause}
    return {**said, "judge": done.judgement.opinion} if done.judgement else said


def _say_how_to_resume(what: str, begun: list[Record], home: Path) -> None:
    complain(what)
    if begun:
        console = Console(stderr=True)
        told = f"Nothing that finished is lost: tmas resume {named(begun[0].id, home)}"
        console.print(words(told), soft_wrap=True)


def _plain(record: Record, result: Result) -> dict[str, Any]:
    return {"thread": record.id, "problem": asdict(record.problem), **asdict(result)}
