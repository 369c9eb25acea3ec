"""Reads the folders of evaluation runs, and unites them where they were made with the same."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import isdir, isfile
from pathlib import Path
from typing import Any

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.run_format import refuse_other_format
from tmas_graph.evaluation.run_rows import Row

SETUP = "run.json"
_LABELLED = " @ "
_FREE = frozenset(
    {
        *("api_key", "base_url", "concurrency", "requests_per_minute", "tokens_per_minute"),
        *("attempts", "timeout_seconds", "stall_seconds", "stream", "telemetry"),
        *("memory_folder", "memory_server", "prompts_folder"),
    }
)
"""Settings that change how a run goes, but not what it finds."""


_ByMethod = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a run was made with, as far as it matters to a comparison."""

    benchmark: str = ""
    path: str | None = None
    """Where the benchmark's problems are, if not at their usual place."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """What its fields are called, where not as usual."""
    version: str = ""
    """Of the benchmark; golds change between releases."""
    problems: tuple[str, ...] = ()
    """Ids of those that it was asked to solve."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By method; so are the next two."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Served model of each role."""
    prompts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """SHA-256 of each template."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run."""

    path: Path
    setup: Setup
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodRun:
    """All that one method did, over all shards."""

    name: str
    rows: Mapping[str, tuple[Row, ...]]
    """By problem, in the order of iterations."""
    setup: Setup
    """Of one of its runs; problems are those of all of them."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those that it ran with."""
        return self.setup.settings.get(unlabelled(self.name), {})

    @property
    def model(self) -> str:
        """The model that wrote its candidates, as it was served or, else, asked for."""
        served = self.setup.models.get(unlabelled(self.name), {}).get("solution")
        return str(served or self.settings.get("model") or "unknown model")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Methods to compare, in the order in which the runs name them."""

    methods: Mapping[str, MethodRun]
    notes: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    """Methods that a run is to try, too, and that have no row yet."""


def unlabelled(name: str) -> str:
    """The method as its run calls it."""
    return name.rpartition(_LABELLED)[0] or name


def load(path: Path) -> RunFolder:
    """Read the folder of a run.

    Raises:
        StorageError: there is none, or what it holds can't be read.
    """
    if not isdir(path):  # unlike Path.is_dir, no matter how long its name is
        raise StorageError(f"{path}: there is no such folder. Give the folder of a run.")
    if not isfile(path / run_rows.FILE):
        raise StorageError(f"{path}: no {run_rows.FILE} in it. Give the folder of a run.")
    setup = _setup(path / SETUP)
    rows, notes = run_rows.read(path / run_rows.FILE)
    if not rows:
        raise StorageError(f"{path / run_rows.FILE}: there is no row in it. Let the run go on.")
    return RunFolder(path, setup, rows, notes)


def _setup(file: Path) -> Setup:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(
            f"{file}: can't be read ({error.strerror}). Give the folder of a run."
        ) from error
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{file}: not JSON ({error!s:.100}). Restore it.") from error
    if not isinstance(values, dict):
        raise StorageError(f"{file}: a {type(values).__name__}, not an object. Restore it.")
    refuse_other_format(file, values)
    problems, source = values.get("problems"), values.get("source")
    source = source if isinstance(source, dict) else {}
    keys = source.get("keys")
    return Setup(
        benchmark=str(source.get("name") or ""),
        path=str(source["path"]) if source.get("path") else None,
        keys={str(k): str(v) for k, v in keys.items()} if isinstance(keys, dict) else {},
        version=str(values.get("version") or ""),
        problems=tuple(map(str, problems)) if isinstance(problems, list) else (),
        settings=_by_method(values.get("methods")),
        models=_by_method(values.get("models")),
        prompts=_by_method(values.get("prompts")),
    )


def _by_method(values: object) -> dict[str, Mapping[str, Any]]:
    """What is known of each method; nothing, where a file was written by hand without it."""
    found = values.items() if isinstance(values, dict) else ()
    return {name: known for name, known in found if isinstance(known, dict)}


def unite(folders: Sequence[RunFolder], labels: Sequence[str] = ()) -> Evaluation:
    """Put runs together; with `labels`, one a run, each method keeps its run's label.

    Raises:
        SettingsError: a method was run with different settings, or labels don't fit.
    """
    if labels and len(labels) != len(folders):
        raise SettingsError(
            f"--label: {len(labels)} for {len(folders)} runs. Give one for each, in their order."
        )
    methods, planned = dict[str, list[RunFolder]](), dict[str, None]()
    for place, folder in enumerate(folders):
        label = f"{_LABELLED}{labels[place]}" if labels else ""
        tried = {row.method for row in folder.rows}
        # In the plan's order: that of the rows is of who ended first.
        for name in dict.fromkeys((*folder.setup.settings, *sorted(tried))):
            if name in tried:
                methods.setdefault(f"{name}{label}", []).append(folder)
        planned |= dict.fromkeys(f"{name}{label}" for name in folder.setup.settings)
    notes = [note for folder in folders for note in folder.notes]
    return Evaluation(
        {name: _united(name, parts) for name, parts in methods.items()},
        (*notes, *_of_benchmarks(folders)),
        tuple(name for name in planned if name not in methods),
    )


def _united(name: str, parts: Sequence[RunFolder]) -> MethodRun:
    method = unlabelled(name)
    rows = dict[tuple[str, int], Row]()
    for part in parts:
        _refuse_other_settings(method, parts[0], part)
        for row in part.rows:
            if row.method != method:
                continue
            known = rows.setdefault((row.problem, row.iteration), row)
            if known != row:
                raise SettingsError(
                    f"{part.path}: {method} at {row.problem!r}, iteration {row.iteration}, differs "
                    "from another run's. Leave one of them out, or name runs with --label."
                )
    by_problem = dict[str, list[Row]]()
    for row in rows.values():
        by_problem.setdefault(row.problem, []).append(row)
    asked = dict.fromkeys(problem for part in parts for problem in part.setup.problems)
    setup = replace(parts[0].setup, problems=tuple(asked))
    ordered = {p: tuple(sorted(many, key=lambda r: r.iteration)) for p, many in by_problem.items()}
    return MethodRun(name, ordered, setup)


def _refuse_other_settings(method: str, first: RunFolder, other: RunFolder) -> None:
    changes = list(differences(first.setup, other.setup, method))
    if changes:
        raise SettingsError(
            f"{other.path}: {method} was run with other settings than in {first.path}: "
            f"{'; '.join(changes)}. Name each run with --label, to tell them apart."
        )


def differences(first: Setup, other: Setup, method: str) -> list[str]:
    """What would make results of `method` differ between two runs, in words."""
    pairs = [
        ("benchmark", first.benchmark, other.benchmark),
        ("version", first.version, other.version),
        *_pairs(first.settings, other.settings, method),
        *_pairs(first.models, other.models, method, kind="model"),
    ]
    found = [f"{name} ({was!s:.40} / {now!s:.40})" for name, was, now in pairs if was != now]
    changed = [
        name for name, was, now in _pairs(first.prompts, other.prompts, method) if was != now
    ]
    return [*found, *([f"the prompts {', '.join(changed)}"] if changed else [])]


def _pairs(
    first: _ByMethod, other: _ByMethod, method: str, *, kind: str = ""
) -> list[tuple[str, Any, Any]]:
    before, after = first.get(method, {}), other.get(method, {})
    names = sorted({*before, *after} - _FREE)
    return [(f"{kind} {n}".strip(), before.get(n), after.get(n)) for n in names]


def _of_benchmarks(folders: Sequence[RunFolder]) -> list[str]:
    found = dict.fromkeys((f.setup.benchmark, f.setup.version) for f in folders)
    if len(found) < 2:
        return []
    named = "; ".join(f"{name or 'unnamed'} ({version or 'no version'})" for name, version in found)
    return [f"the runs are about different benchmarks or versions: {named}"]
