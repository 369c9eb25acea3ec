"""What `tmas run` does once its options are read: run, watch, report, tell how to go on."""

import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console

from tmas_graph.cli.ending import INTERRUPTED
from tmas_graph.cli.own_stdout import own_stdout
from tmas_graph.cli.plain import complain, line, words
from tmas_graph.cli.run_report import report, summary
from tmas_graph.cli.run_view import RunView
from tmas_graph.cli.session import start_local_models
from tmas_graph.cli.telemetry import exporting
from tmas_graph.configuration import load
from tmas_graph.errors import ClusterGone, SettingsError, TmasError
from tmas_graph.evaluation import sitting
from tmas_graph.evaluation.books import Watch
from tmas_graph.evaluation.planning import More, fresh
from tmas_graph.evaluation.problem_set import chosen, in_shard, source_of
from tmas_graph.evaluation.run_folder import FILE, read_plan
from tmas_graph.evaluation.run_standing import RunStanding
from tmas_graph.evaluation.runner import HERE, Executor
from tmas_graph.running import run_blocking
from tmas_graph.settings import Settings
from tmas_graph.threads import refuse_second_writer

Wanted = More
HALTED = 3
"""The exit status of a run that its own budget ended."""


@dataclass(frozen=True, slots=True)
class Problems:
    """Which problems a fresh run is about, as the command line says it."""

    benchmark: str
    path: str | None
    keys: Mapping[str, str | None]
    shard: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What is printed of a run."""

    as_json: bool
    quiet: bool = False
    """Nothing of its end, if that is well."""
    kept: bool = True
    """Whether its folder outlives the command."""


class Sample(NamedTuple):
    """Problems to measure, and of how many."""

    ids: list[str]
    all: int


def sampled(problems: Problems, limit: int | None, count: int) -> Sample:
    """`count` problems, evenly spread over the first `limit`, or over all."""
    found = source_of(problems.benchmark, problems.path, **problems.keys).load()
    names = chosen(found, limit=limit)
    count = min(count, len(names))
    return Sample([names[place * len(names) // count] for place in range(count)], len(names))


def start(
    folder: Path,
    problems: Problems,
    wanted: More,
    config: Path | None,
    preset: str | None,
    shown: Shown,
    executor: Executor = HERE,
) -> None:
    """Begin a run in `folder` and print how it ended."""
    settings = load(config, preset=preset, changes=wanted.changes).settings
    source = source_of(problems.benchmark, problems.path, **problems.keys)
    found = source.load()
    names = chosen(found, limit=wanted.limit, ids=wanted.ids)
    if not in_shard(found, names, problems.shard):
        raise SettingsError(
            f"--shard: no problem of {len(names)} falls in {problems.shard}. Use fewer shards."
        )
    labels = wanted.labels or ["tmas"]
    plan = fresh(source, found, names, labels, settings, limits=wanted.limits, shard=problems.shard)
    for entrant in plan.entrants:
        refuse_second_writer(entrant.settings, folder, entrant.label)
        if executor is HERE:
            start_local_models(entrant.settings)
    work = partial(sitting.begin, folder, plan, found, executor=executor)
    _run(folder, work, settings, executor, shown)


def resume(
    folder: Path,
    more: More,
    config: Path | None,
    *,
    accept_changes: bool,
    as_json: bool,
    executor: Executor = HERE,
) -> None:
    """Let the run in `folder` go on and print how it ended."""
    keys, plan = load(config).settings, read_plan(folder)
    for entrant in plan.entrants:
        refuse_second_writer(entrant.settings, folder, entrant.label)
    settings = plan.settings
    if executor is HERE:
        start_local_models(settings)

    def tell(news: list[str]) -> None:
        complain(f"changed since it began: {'; '.join(news)}", style="yellow")

    work = partial(sitting.go_on, folder, more, keys, accept_changes=accept_changes, tell=tell)
    _run(folder, partial(work, executor=executor), settings, executor, Shown(as_json))


def _run(
    folder: Path,
    work: Callable[..., Awaitable[RunStanding]],
    settings: Settings,
    executor: Executor,
    shown: Shown,
) -> None:
    with nullcontext(sys.stdout) if executor is HERE else own_stdout() as stdout:
        console = Console(stderr=True) if shown.as_json else Console(file=stdout)
        quiet = shown.as_json and not console.is_terminal
        view = RunView(console, executor.load, quiet=quiet)
        standing = _sat(folder, work, settings, view, kept=shown.kept)
        if shown.quiet and not standing.failed:
            return
        if shown.as_json and not shown.quiet:
            print(json.dumps(summary(folder, standing), indent=2), file=stdout)
        else:
            report(console, folder if shown.kept else None, standing)
    if standing.halted:
        raise typer.Exit(HALTED)
    if standing.failed:
        raise typer.Exit(1)


def _sat(
    folder: Path,
    work: Callable[..., Awaitable[RunStanding]],
    settings: Settings,
    view: RunView,
    *,
    kept: bool,
) -> RunStanding:
    begun: list[RunStanding] = []

    def note(standing: RunStanding) -> None:
        # What is loaded stays: going through it again and again would stop the loop for 100 ms.
        gc.collect()
        gc.freeze()
        begun.append(standing)
        if standing.golds.note:
            complain(standing.golds.note, style="yellow")
        view.begun(standing)

    async def sit() -> RunStanding:
        with exporting(settings):
            return await work(watch=Watch(note, view.ended))

    try:
        with view.shown():
            return run_blocking(sit)
    except (KeyboardInterrupt, asyncio.CancelledError):
        there = kept and (folder / FILE).is_file()
        go_on = f"; `tmas run --resume {line(str(folder))}` goes on" if there else ""
        complain(f"interrupted{go_on}")
        raise typer.Exit(INTERRUPTED) from None
    except ClusterGone as error:
        _say_how_to_go_on(str(error), folder, begun)
        os._exit(2)  # Ray's threads would crash an orderly end, or wait for the head
    except TmasError as error:
        _say_how_to_go_on(str(error), folder, begun if kept else [])
        raise typer.Exit(2) from None


def _say_how_to_go_on(what: str, folder: Path, begun: list[RunStanding]) -> None:
    complain(what)
    if begun:
        console = Console(stderr=True)
        told = f"Nothing that finished is lost: tmas run --resume {line(str(folder))}"
        console.print(words(told), soft_wrap=True)
