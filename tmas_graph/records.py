"""What a thread was made with, and what has changed since."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tmas_graph.endpoint_settings import Endpoint
from tmas_graph.errors import ThreadChanged
from tmas_graph.graph import GRAPH_VERSION
from tmas_graph.methods import find
from tmas_graph.prompts import Prompts
from tmas_graph.settings import ROLES, Settings
from tmas_graph.state import Problem

_FREE = {
    "iterations",
    "early_stop",
    "early_stop_share",
    "early_stop_score",
    "early_stop_iterations",
    "max_calls",
    "max_total_tokens",
    "max_cost",
    "max_seconds",
    "prices",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "attempts",
    "timeout_seconds",
    "stall_seconds",
    "stream",
    "tokenizer",
    "telemetry",
    "judge",
    "memory_folder",
    "memory_server",
    "embeddings",
    "prompts_folder",
    "base_url",
    "model",
    "roles",
}
"""Settings that may differ on a resume; what prompts and models became is compared itself.

Other `embeddings` are refused by the store that holds the old ones' vectors.
"""

HOME = "{home}/"
"""Stands in a stored memory_folder for the state folder, which may be moved or copied."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a thread was made with, and how it stands."""

    id: str
    problem: Problem
    settings: Settings
    """Without keys: they are never stored."""
    prompts: Mapping[str, str]
    """SHA-256 of each template."""
    models: Mapping[str, str]
    """Served model of each role."""
    version: int
    status: str
    """`running`, `done`, `budget` or `stopped`; `running` in no process: it was interrupted."""
    cause: str
    created: str
    updated: str
    method: str = "tmas"
    """Its name, with what stands in brackets after it; `settings` have that in them."""


Row = tuple[str | int, ...]
"""The columns of a record in the database, in order."""


def row_of(record: Record, home: Path) -> Row:
    """The row that holds `record` in the state folder `home`; its keys are left out.

    A memory in that folder is named as it is seen from there: it goes along if the folder moves.
    """
    settings = record.settings.model_dump(mode="json")
    folder, home = settings["memory_folder"], home.resolve()
    if folder is not None and Path(folder).is_relative_to(home):
        settings["memory_folder"] = f"{HOME}{Path(folder).relative_to(home).as_posix()}"
    return (
        record.id,
        record.created,
        record.updated,
        record.version,
        json.dumps(asdict(record.problem)),
        json.dumps(settings),
        json.dumps(dict(record.prompts)),
        json.dumps(dict(record.models)),
        record.status,
        record.cause,
        record.method,
    )


def record_of(row: Any, home: Path) -> Record:
    """The record that a row of the state folder `home` holds."""
    name, created, updated, version, problem, settings, prompts, models, *rest = row
    status, cause, method = rest
    values = json.loads(settings)
    if (folder := values.get("memory_folder") or "").startswith(HOME):
        values["memory_folder"] = str(home.resolve() / folder.removeprefix(HOME))
    return Record(
        name,
        Problem(**json.loads(problem)),
        Settings.checked(values),
        json.loads(prompts),
        json.loads(models),
        version,
        status,
        cause,
        created,
        updated,
        method,
    )


def differences(record: Record, settings: Settings, models: Mapping[str, str]) -> list[str]:
    """What changed since `record` was made that its next iterations would notice, in words."""
    changes = []
    hashes = Prompts.of(settings).hashes(find(record.method).prompts)
    changed = sorted(n for n in hashes if hashes[n] != record.prompts.get(n))
    if changed:
        changes.append(f"the prompts {', '.join(changed)}")
    used = {*record.settings.roles_in_use} & {*settings.roles_in_use}
    for role in (role for role in ROLES if role in used):
        if record.models.get(role) != models.get(role):
            changes.append(f"the {role} model ({record.models.get(role)} → {models.get(role)})")
    old, new = record.settings.model_dump(), settings.model_dump()
    changes += [f"{n} ({old[n]} → {new[n]})" for n in new if n not in _FREE and old[n] != new[n]]
    return [*changes, *_changes_by_role(record.settings, settings)]


def _changes_by_role(old: Settings, new: Settings) -> list[str]:
    """What changed for single roles alone, in effect: not with what holds for all."""
    changes = []
    for role in ROLES:
        before, after = old.endpoint(role), new.endpoint(role)
        for name in sorted(Endpoint.model_fields.keys() - _FREE - {"api_key"}):
            was, is_now = getattr(before, name), getattr(after, name)
            shared = (getattr(old, name), getattr(new, name))
            if was != is_now and (was, is_now) != shared:
                changes.append(f"roles.{role}.{name} ({was} → {is_now})")
    return changes


def made_with(record: Record, settings: Settings, models: Mapping[str, str]) -> Record:
    """`record` as one that goes on with these settings, models and today's prompts."""
    hashes = Prompts.of(settings).hashes(find(record.method).prompts)
    return replace(record, settings=settings, models=models, prompts=hashes, version=GRAPH_VERSION)


def refuse_other_version(record: Record) -> None:
    """Refuse to go on with a thread whose state this version of the graph can't read.

    Raises:
        ThreadChanged: it was made by another version.
    """
    if record.version != GRAPH_VERSION:
        raise ThreadChanged(
            f"threads: {record.id} was made by version {record.version} of the graph, and this is "
            f"version {GRAPH_VERSION}. Start a new thread."
        )


def refuse_changes(record: Record, changes: list[str]) -> None:
    """Refuse to go on with `record` where something changed.

    Raises:
        ThreadChanged: it names all `changes`.
    """
    if changes:
        raise ThreadChanged(
            f"threads: since {record.id} was made, these changed: {'; '.join(changes)}. "
            "Undo that, start a new thread, or go on all the same with --accept-changes."
        )
