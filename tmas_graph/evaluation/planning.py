"""Plans: of a fresh run, and of one that goes on with more problems, methods or iterations."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tmas_graph.configuration import adjusted, flat, with_keys
from tmas_graph.errors import SettingsError, ThreadChanged
from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.entrants import Entrant, entrants
from tmas_graph.evaluation.problem_set import ProblemSource, checksum, chosen
from tmas_graph.evaluation.run_folder import UNLIMITED, Plan, RunLimits, versions
from tmas_graph.methods import find
from tmas_graph.prompts import Prompts
from tmas_graph.records import Record, differences
from tmas_graph.running import ready
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, digest
from tmas_graph.stored import by_name

_LONGEST_RUN_NAME = 200


@dataclass(frozen=True, slots=True)
class More:
    """What a resumed run is to do beyond its plan."""

    labels: Sequence[str] = ()
    limit: int | None = None
    ids: Collection[str] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Settings, for all methods save where a method's label sets them."""
    limits: RunLimits = UNLIMITED
    """Those that are set replace the run's."""


def fresh(
    source: ProblemSource,
    found: Dataset,
    problems: Sequence[str],
    labels: Sequence[str],
    settings: Settings,
    *,
    limits: RunLimits = UNLIMITED,
    shard: str = "1/1",
) -> Plan:
    """The plan of a run that begins; what its endpoints serve is still to be asked.

    Raises:
        SettingsError: a method is wrong, or a setting for it.
    """
    return Plan(
        source=source,
        version=found.version,
        problems=tuple(problems),
        checksum=checksum(found, problems),
        settings=settings,
        entrants=_keyed(entrants(labels, settings), settings),
        models={},
        prompts={},
        limits=limits,
        shard=shard,
        versions=versions(),
    )


def extended(plan: Plan, found: Dataset, more: More, keys: Settings) -> Plan:
    """`plan` with `more`, and with the keys that are in force here.

    Raises:
        SettingsError: a setting or method is wrong, or problems would have to be taken away.
        ProblemError: a problem isn't there.
        ThreadChanged: the problems aren't those that the run began with.
    """
    if checksum(found, plan.problems) != plan.checksum:
        raise ThreadChanged(
            f"run: the problems or gold answers of {found.name} aren't those that it began with. "
            "Restore them, or start another run."
        )
    wanted = set(plan.problems)
    if more.limit is not None or more.ids:
        wanted |= set(chosen(found, limit=more.limit, ids=more.ids))
    if more.limit is not None and more.limit < len(wanted) == len(plan.problems):
        raise SettingsError(
            f"--limit: {more.limit} is less than the {len(wanted)} problems that the run has, and "
            "none is taken away. Leave it out, or start another run."
        )
    problems = tuple(problem.id for problem in found.problems if problem.id in wanted)
    labels = dict.fromkeys([*(e.label for e in plan.entrants), *more.labels])
    settings = with_keys(adjusted(plan.settings, more.changes, "command line"), keys)
    given = {k: v for k, v in by_name(more.limits).items() if v is not None}
    return replace(
        plan,
        problems=problems,
        checksum=checksum(found, problems),
        settings=settings,
        entrants=_keyed(entrants(labels, settings), keys),
        limits=replace(plan.limits, **given),
        versions=versions(),
    )


async def asked(plan: Plan) -> Plan:
    """`plan` with what the endpoints serve and the prompts say now.

    Raises:
        CallError: an endpoint doesn't answer.
        SettingsError: a setting can't be used, or money is limited and a model has no price.
        StorageError: a memory can't be used, or holds other vectors.
    """
    models = {}
    limited = "" if plan.limits.max_cost is None else "run_max_cost"
    for entrant in plan.entrants:
        models[entrant.label] = await ready(entrant.settings, limited=limited)
    prompts = {e.label: Prompts.of(e.settings).hashes(find(e.label).prompts) for e in plan.entrants}
    return replace(plan, models=models, prompts=prompts)


def news(old: Plan, new: Plan) -> list[str]:
    """What a resumed run does otherwise than before, in words."""
    told = []
    if added := len(new.problems) - len(old.problems):
        told.append(f"{added} more problem" + "s" * (added > 1))
    before = {e.label: e.settings for e in old.entrants}
    for entrant in new.entrants:
        if entrant.label not in before:
            told.append(f"method {entrant.label}")
            continue
        was, now = (
            flat(s.model_dump(mode="json")) for s in (before[entrant.label], entrant.settings)
        )
        told += [
            f"{entrant.label}: {n} {was.get(n)} → {now[n]}" for n in now if was.get(n) != now[n]
        ]
    for name, limit in by_name(new.limits).items():
        if limit != (was_limit := by_name(old.limits)[name]):
            told.append(f"the run's {name} {was_limit} → {limit}")
    return told


def incomparable(old: Plan, new: Plan) -> list[str]:
    """Changes after which rows of the same method would not be about the same thing, in words."""
    after = {e.label: e.settings for e in new.entrants}
    changes = []
    for entrant in old.entrants:
        label, settings = entrant.label, after.get(entrant.label)
        if settings is None or label not in old.models:
            continue
        models, prompts = old.models[label], old.prompts[label]
        record = Record(
            id=label,
            problem=Problem("?"),
            settings=entrant.settings,
            prompts=prompts,
            models=models,
            version=0,
            status="stopped",
            cause="",
            created="",
            updated="",
            method=label,
        )
        changes += [f"{label}: {c}" for c in differences(record, settings, new.models[label])]
    return changes


def refuse(folder: Path, changes: Sequence[str]) -> None:
    """Refuse to go on with the run in `folder` where old rows would not fit new ones.

    Raises:
        ThreadChanged: it names all `changes`.
    """
    if changes:
        raise ThreadChanged(
            f"run: since {folder} began, these changed: {'; '.join(changes)}. "
            "Undo that, start another run, or go on all the same with --accept-changes."
        )


def placed(entrant: Entrant, folder: Path) -> Settings:
    """The entrant's settings with its memories in the run's folder, where nothing else is set.

    Methods share a store, but no run's memory: what one learnt must not help another.
    """
    settings, update = entrant.settings, dict[str, Any]()
    if settings.memory_folder is None and settings.memory_server is None:
        update["memory_folder"] = str((folder / "memory").resolve())
    if not settings.run_name:
        name = f"{folder.resolve().name}/{entrant.label}"
        short = name if len(name) <= _LONGEST_RUN_NAME else f"run/{digest(name)}"
        update["run_name"] = short
    return settings.model_copy(update=update)


def _keyed(taking_part: tuple[Entrant, ...], keys: Settings) -> tuple[Entrant, ...]:
    return tuple(Entrant(e.label, with_keys(e.settings, keys)) for e in taking_part)
