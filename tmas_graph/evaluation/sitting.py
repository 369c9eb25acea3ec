"""Begins a run, or lets one go on: the one way in for the command line and for Python."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from tmas_graph.errors import SettingsError, StorageError, ThreadError
from tmas_graph.evaluation import parts
from tmas_graph.evaluation.books import UNWATCHED, Books, Watch
from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.planning import More, asked, extended, incomparable, news, refuse
from tmas_graph.evaluation.row_log import Job, RowLog, Written
from tmas_graph.evaluation.run_folder import FILE, Plan, owned, read_plan, write_plan
from tmas_graph.evaluation.run_standing import RunStanding
from tmas_graph.evaluation.runner import HERE, Executor
from tmas_graph.settings import Settings
from tmas_graph.state_folder import DATABASE

_GOES_ON = (
    "iterations",
    "early_stop",
    "early_stop_share",
    "early_stop_score",
    "early_stop_iterations",
    "max_calls",
    "max_total_tokens",
    "max_cost",
    "max_seconds",
    "judge",
)
"""Settings after whose change a finished problem may have to go on, or to be graded anew."""


async def begin(
    folder: Path,
    plan: Plan,
    found: Dataset,
    *,
    watch: Watch = UNWATCHED,
    executor: Executor = HERE,
) -> RunStanding:
    """Run `plan` in `folder` from the start, on `executor`.

    Raises:
        SettingsError: there is something in the folder already.
        TmasError: the run can't go on; what finished is kept.
    """
    _refuse_used(folder)
    plan.limits.check()
    executor.check(plan)
    plan = await asked(plan)
    with owned(folder):
        _refuse_used(folder)
        write_plan(folder, plan)
        return await _run(Books(folder, plan, found, watch), executor)


async def go_on(
    folder: Path,
    more: More,
    keys: Settings,
    *,
    accept_changes: bool = False,
    tell: Callable[[list[str]], None] = lambda news: None,
    watch: Watch = UNWATCHED,
    executor: Executor = HERE,
) -> RunStanding:
    """Let the run in `folder` go on, with `more` where that is given.

    Args:
        folder: of the run.
        more: what it is to do beyond its plan.
        keys: the settings in force here, of which the keys alone are taken.
        accept_changes: go on though rows that are there would not fit those to come.
        tell: called with what changed since it began, if anything did.
        watch: told what happens.
        executor: where to go on; not necessarily where it began.

    Raises:
        ThreadChanged: something changed that old rows don't fit.
        TmasError: the run can't go on; what finished is kept.
    """
    if not (folder / FILE).is_file():
        read_plan(folder)  # says that it is no run, before anything is made there
    more.limits.check()
    with owned(folder):
        old = read_plan(folder)
        if old.parts:
            raise ThreadError(
                f"run: {folder} is a merge of {', '.join(old.parts)}. Resume one of those, "
                "and merge anew."
            )
        found = old.source.load()
        plan = extended(old, found, more, keys)
        executor.check(plan)
        plan = await asked(plan)
        if not accept_changes:
            refuse(folder, incomparable(old, plan))
        log, reopened = RowLog(folder), _reopened(old, plan)
        written = log.written()
        lost = _what_is_lost(folder, written)
        if lost and not accept_changes and any(job.method in reopened for job in written):
            raise ThreadError(
                f"run: {lost[0]}; all of {', '.join(sorted(reopened))} would begin anew. Restore "
                "the file, go on with the settings as they were, or pass --accept-changes."
            )
        if changes := [*lost, *news(old, plan)]:
            tell(changes)
        if reopened:  # before the plan says so: rows can be made anew
            log.keep({job for job in written if job.method not in reopened})
        write_plan(folder, plan)
        return await _run(Books(folder, plan, found, watch), executor)


async def _run(books: Books, executor: Executor) -> RunStanding:
    try:
        await parts.gather_all(books.folder)  # of a sitting on several processes that was killed
        await executor.run(books)
        return books.standing
    except (StorageError, sqlite3.Error) as error:
        cause = error.__cause__ if isinstance(error, StorageError) else error
        if not isinstance(cause, sqlite3.Error):
            raise
        full = "full" in str(cause)
        advice = "Free some room" if full else f"See to {DATABASE} and its disk"
        raise StorageError(
            f"run: {books.folder} can't be written ({cause}). {advice}, then let it go on with "
            "--resume."
        ) from cause


def _what_is_lost(folder: Path, written: Mapping[Job, Written]) -> list[str]:
    """In words, where rows are there, but not the database that they were made of."""
    rows = sum(len(each.iterations) for each in written.values() if each.whole)
    if not rows or (folder / DATABASE).exists():
        return []
    return [f"{DATABASE} is missing: finished calls are lost, {rows} row{'s'[: rows > 1]} stay"]


def _reopened(old: Plan, new: Plan) -> set[str]:
    """Methods whose finished problems may have more to do."""
    before = {e.label: e.settings for e in old.entrants}
    return {
        e.label
        for e in new.entrants
        if e.label in before
        and any(getattr(before[e.label], n) != getattr(e.settings, n) for n in _GOES_ON)
    }


def _refuse_used(folder: Path) -> None:
    if (folder / FILE).exists():
        raise SettingsError(
            f"--out: there is a run in {folder}. Let it go on with --resume {folder}, or give "
            "another folder."
        )
    if folder.is_file():
        raise StorageError(f"--out: {folder} is a file. Give a folder.")
    if folder.is_symlink() and not folder.exists():
        raise StorageError(f"--out: {folder} is a link to nothing. Give a folder.")
    if (folder / DATABASE).exists():
        raise SettingsError(f"--out: {folder} holds other threads. Give a folder of the run's own.")
