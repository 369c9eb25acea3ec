"""What `tmas run` does once its options are read: run, watch, report, tell how to go on."""

import asyncio
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from tmas_graph.cli.counting import counted
from tmas_graph.cli.own_stdout import own_stdout
from tmas_graph.cli.plain import complain, line, words
from tmas_graph.cli.run_view import RunView, duration, table_of
from tmas_graph.cli.session import start_local_models
from tmas_graph.cli.telemetry import exporting
from tmas_graph.configuration import load
from tmas_graph.errors import ClusterGone, SettingsError, TmasError
from tmas_graph.evaluation import sitting
from tmas_graph.evaluation.books import Watch
from tmas_graph.evaluation.planning import More, fresh
from tmas_graph.evaluation.problem_set import chosen, in_shard, source_of
from tmas_graph.evaluation.run_folder import read_plan
from tmas_graph.evaluation.run_standing import RunStanding
from tmas_graph.evaluation.runner import HERE, Executor
from tmas_graph.running import run_blocking
from tmas_graph.settings import Settings
from tmas_graph.threads import refuse_second_writer

Wanted = More


@dataclass(frozen=True, slots=True)
class Problems:
    """Which problems a fresh run is about, as the command line says it."""

    benchmark: str
    path: str | None
    keys: Mapping[str, str | None]
    shard: str


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
    *,
    as_json: bool,
    quiet: bool = False,
    executor: Executor = HERE,
) -> None:
    """Begin a run in `folder` and print how it ended, unless that is well and `quiet`."""
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
    _run(folder, work, settings, executor, as_json=as_json, quiet=quiet)


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
    _run(folder, partial(work, executor=executor), settings, executor, as_json=as_json)


def _run(
    folder: Path,
    work: Callable[..., Awaitable[RunStanding]],
    settings: Settings,
    executor: Executor,
    *,
    as_json: bool,
    quiet: bool = False,
) -> None:
    with nullcontext(sys.stdout) if executor is HERE else own_stdout() as stdout:
        console = Console(stderr=True) if as_json else Console(file=stdout)
        view = RunView(console, executor.load, quiet=as_json and not console.is_terminal)
        standing = _sat(folder, work, settings, view)
        if quiet and not standing.failed:
            return
        if as_json and not quiet:
            print(json.dumps(summary(folder, standing), indent=2), file=stdout)
        else:
            _report(console, folder, standing)
    if standing.failed:
        raise typer.Exit(1)


def _sat(
    folder: Path,
    work: Callable[..., Awaitable[RunStanding]],
    settings: Settings,
    view: RunView,
) -> RunStanding:
    begun: list[RunStanding] = []

    def note(standing: RunStanding) -> None:
        # What is loaded stays: going through it again and again would stop the loop for 100 ms.
        gc.collect()
        gc.freeze()
        begun.append(standing)
        view.begun(standing)

    async def sit() -> RunStanding:
        with exporting(settings):
            return await work(watch=Watch(note, view.ended))

    try:
        with view.shown():
            return run_blocking(sit)
    except (KeyboardInterrupt, asyncio.CancelledError):
        _say_how_to_go_on("interrupted", folder, begun)
        raise typer.Exit(130) from None
    except ClusterGone as error:
        _say_how_to_go_on(str(error), folder, begun)
        os._exit(2)  # Ray's threads would crash an orderly end, or wait for the head
    except TmasError as error:
        _say_how_to_go_on(str(error), folder, begun)
        raise typer.Exit(2) from None


def summary(folder: Path, standing: RunStanding) -> dict[str, Any]:
    """How a run stands, as JSON can hold it."""
    methods = {
        label: {
            "problems": method.total,
            "done": method.done,
            "failed": method.failed,
            "statuses": dict(method.statuses),
            "accuracy": method.accuracy,
            "standard_error": method.standard_error,
            "usage": asdict(method.purse.spent),
        }
        for label, method in standing.methods.items()
    }
    return {
        "run": str(folder),
        "methods": methods,
        "usage": asdict(standing.purse.spent),
        "seconds": round(standing.seconds, 3),
        "causes": dict(standing.causes),
        "stop": standing.purse.exhausted() if standing.halted else "",
    }


def _report(console: Console, folder: Path, standing: RunStanding) -> None:
    if not console.is_terminal:
        console.print(table_of(standing))
    shown = line(str(folder))
    left = standing.total - standing.done
    nothing = standing.purse.spent.calls == standing.calls_before and not left
    said = [f"{standing.done:,} of {standing.total:,} done in {duration(standing.seconds)}"]
    if nothing:
        said = [f"nothing was left to do: all {standing.total:,} were done"]
    if standing.halted:
        said.append(f"{standing.purse.exhausted()}; go on with a larger budget")
    console.print(words(" · ".join(said)), soft_wrap=True)
    for cause, count in standing.causes.items():
        console.print(words(f"failed: {counted(count, 'time')}: {line(cause)}", "yellow"))
    if left:
        console.print(words(f"the rest: tmas run --resume {shown}", "yellow"), soft_wrap=True)
    console.print(
        words(f"rows: {shown}/rows.jsonl · threads: tmas threads --home {shown}"), soft_wrap=True
    )


def _say_how_to_go_on(what: str, folder: Path, begun: list[RunStanding]) -> None:
    complain(what)
    if begun:
        console = Console(stderr=True)
        told = f"Nothing that finished is lost: tmas run --resume {line(str(folder))}"
        console.print(words(told), soft_wrap=True)
