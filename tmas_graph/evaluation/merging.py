"""Unites the shards of one run, which several machines have made."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tmas_graph.errors import SettingsError, ThreadChanged
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import (
    FILE,
    Plan,
    read_plan,
    replace_file,
    unusable,
    write_plan,
)
from tmas_graph.evaluation.run_rows import Key, Row, dumped, read
from tmas_graph.settings import Settings

_ELSEWHERE = {
    "base_url",
    "memory_folder",
    "memory_server",
    "prompts_folder",
    "run_name",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "attempts",
    "timeout_seconds",
    "stall_seconds",
    "stream",
    "telemetry",
}
"""Settings that may differ between machines; what models and prompts are is compared itself."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge has made."""

    rows: int
    done: int
    """Problems, counted for each method."""
    failed: int
    missing: int
    """Those that no part has rows of."""


def merge(out: Path, parts: Sequence[Path]) -> Merged:
    """Write the run that `parts` are shards of into the folder `out`.

    A problem that stands in several parts must have the same rows in all; seconds aside. One that
    failed in one part and came through in another has come through.

    Raises:
        SettingsError: there is something in `out` already, or too few parts are given.
        ThreadChanged: the parts are of different runs, or disagree about a problem.
        StorageError: a part can't be read, or `out` not written.
    """
    if len(parts) < 2:
        raise SettingsError("merge: give two runs at least, after the folder to write.")
    _refuse_used(out)
    plans = [read_plan(part) for part in parts]
    for part, plan in zip(parts[1:], plans[1:], strict=True):
        _refuse_differences(parts[0], plans[0], part, plan)
    rows: dict[Key, Row] = {}
    for part in parts:
        _unite(rows, read(part / run_rows.FILE).rows, part)
    plan = _united(plans, [str(part) for part in parts])
    jobs = {Job(name, e.label) for name in plan.problems for e in plan.entrants}
    through = {Job(row.problem, row.method) for row in rows.values() if row.stop is not None}
    kept = [
        r for r in rows.values() if r.outcome == "done" or Job(r.problem, r.method) not in through
    ]
    failed = {Job(row.problem, row.method) for row in kept if row.outcome == "failed"}
    _write(out, kept, plan)
    return Merged(len(kept), len(through & jobs), len(failed), len(jobs - through - failed))


def _refuse_used(out: Path) -> None:
    if out.is_symlink() and not out.exists():
        raise SettingsError(f"merge: {out} is a link to nothing. Give a new folder.")
    for place in (out, *out.parents):
        if place.exists() and not place.is_dir():
            raise SettingsError(f"merge: {place} is a file. Give a new folder.")
    if (out / FILE).exists() or (out / run_rows.FILE).exists():
        raise SettingsError(f"merge: there is a run in {out}. Give a new folder.")


def _write(out: Path, rows: Sequence[Row], plan: Plan) -> None:
    """Write the run into `out`; where that fails, nothing of it is left."""
    missing = [place for place in (out, *out.parents) if not place.exists()]
    try:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unusable(out, error) from error
        replace_file(out / run_rows.FILE, dumped(rows))
        write_plan(out, plan)
    except BaseException:
        with suppress(OSError):
            (out / run_rows.FILE).unlink(missing_ok=True)
            for place in missing:
                place.rmdir()
        raise


def _unite(rows: dict[Key, Row], more: Sequence[Row], part: Path) -> None:
    for row in more:
        known = rows.get(row.key)
        if known is None or known.outcome == "failed":
            rows[row.key] = row
        elif row.outcome == "done" and replace(row, seconds=known.seconds) != known:
            raise ThreadChanged(
                f"merge: {part} has other rows of {row.problem} with {row.method} than a run "
                "before it. Leave one of them out."
            )


def _united(plans: Sequence[Plan], parts: Sequence[str]) -> Plan:
    first = plans[0]
    problems = dict.fromkeys(name for plan in plans for name in plan.problems)
    checksums = {plan.checksum for plan in plans}
    deeper = [name for plan in plans for name in plan.parts]
    return replace(
        first,
        problems=tuple(problems),
        checksum=first.checksum if len(checksums) == 1 else "",
        shard="1/1",
        parts=(*parts, *deeper),
    )


def _refuse_differences(one: Path, mine: Plan, other: Path, theirs: Plan) -> None:
    if changes := list(_differences(mine, theirs)):
        raise ThreadChanged(
            f"merge: {one} and {other} aren't parts of one run: {'; '.join(changes)}. "
            "Merge runs with the same data set, methods, settings, models and prompts."
        )


def _differences(mine: Plan, theirs: Plan) -> Iterator[str]:
    if mine.version != theirs.version:
        yield f"the data set ({mine.version} and {theirs.version})"
    if mine.problems == theirs.problems and mine.checksum != theirs.checksum:
        yield "the problems' texts or gold answers"
    ours = {e.label: e.settings for e in mine.entrants}
    others = {e.label: e.settings for e in theirs.entrants}
    if odd := sorted(ours.keys() ^ others.keys()):
        yield f"the methods ({', '.join(odd)} only in one)"
    for label in sorted(ours.keys() & others.keys()):
        yield from (f"{label}: {change}" for change in _settings(ours[label], others[label]))
        if mine.models.get(label) != theirs.models.get(label):
            yield f"{label}: the models"
        if mine.prompts.get(label) != theirs.prompts.get(label):
            yield f"{label}: the prompts"


def _settings(one: Settings, other: Settings) -> Iterator[str]:
    mine, theirs = (s.model_dump(mode="json", exclude=_ELSEWHERE) for s in (one, other))
    for role in (*mine["roles"].values(), *theirs["roles"].values()):
        role.pop("base_url", None)
    yield from (f"{n} ({mine[n]} and {theirs[n]})" for n in mine if mine[n] != theirs[n])
