"""A run's folder: what it was started with, the rows so far, and who works on it.

The folder is a state folder of threads, one for each problem and method. `run.json` comes first
and whole; `rows.jsonl` is appended to, and can be made anew from the database.
"""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

from filelock import FileLock, Timeout

from tmas_graph.errors import StorageError, ThreadBusy
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.problem_set import ProblemSource
from tmas_graph.evaluation.run_format import FORMAT, refuse_other_format
from tmas_graph.models.budget import Budget
from tmas_graph.settings import Settings
from tmas_graph.state import digest

FILE = "run.json"
_LOCK, _OWNER = "run.lock", "run.pid"
_PACKAGES = ("tmas-graph", "langgraph", "chromadb", "aiohttp")
_UNSAFE = re.compile(r"[^A-Za-z0-9.=_-]+")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What the whole run may spend, all its sittings together."""

    max_calls: int | None = None
    max_total_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None

    def check(self) -> None:
        """Make sure that each is above 0.

        Raises:
            SettingsError: one isn't.
        """
        Budget(**asdict(self))


UNLIMITED = RunLimits()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is to do, and with what."""

    source: ProblemSource
    version: str
    """Of the data set."""
    problems: tuple[str, ...]
    """Ids, in the order of the data set; the whole run's, where this is a shard of it."""
    checksum: str
    """Of these problems and their gold answers."""
    settings: Settings
    """What holds for all methods that don't set it themselves."""
    entrants: tuple[Entrant, ...]
    models: Mapping[str, Mapping[str, str]]
    """By method, the served model of each role."""
    prompts: Mapping[str, Mapping[str, str]]
    """By method, the SHA-256 of each template."""
    limits: RunLimits = UNLIMITED
    shard: str = "1/1"
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of Python and the packages that matter."""
    parts: tuple[str, ...] = ()
    """Of a merged run: the folders that it was made of."""


def thread_name(method: str, problem: str) -> str:
    """The name of the thread for a problem and a method: readable, safe as a file's name."""
    shown = _UNSAFE.sub("-", f"{method}-{problem}")[:80].strip("-.")
    return f"{shown}-{digest(method, problem)[:8]}"


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a run's results may depend on."""
    found = {"python": python_version()}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def write_plan(folder: Path, plan: Plan) -> None:
    """Write `run.json`, whole or not at all.

    Raises:
        StorageError: the folder can't be written.
    """
    plain = {"format": FORMAT, **asdict(plan), "settings": plan.settings.model_dump(mode="json")}
    plain["methods"] = {e.label: e.settings.model_dump(mode="json") for e in plan.entrants}
    del plain["entrants"]
    replace_file(folder / FILE, json.dumps(plain, indent=1) + "\n")


def read_plan(folder: Path) -> Plan:
    """Read `run.json`.

    Raises:
        StorageError: there is none, or it can't be read.
    """
    try:
        plain = json.loads((folder / FILE).read_bytes())
        refuse_other_format(folder / FILE, plain)
        return _plan(plain)
    except StorageError:
        raise
    except FileNotFoundError:
        raise StorageError(
            f"{folder}: is no run, as it has no {FILE}. Give the folder of a run."
        ) from None
    except OSError as error:
        raise StorageError(
            f"{folder / FILE}: can't be read ({error.strerror}). Give the folder of a run."
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(
            f"{folder / FILE}: isn't what this version writes ({_reason(error)}). Restore the "
            "file, or use the version that wrote it."
        ) from error


def _reason(error: Exception) -> str:
    """What is wrong with the file, in words of its own rather than of Python's."""
    if isinstance(error, KeyError):
        return f'no "{error.args[0]!s:.40}"'
    if isinstance(error, ValueError):
        return f"{error!s:.100}"
    return "a field is unknown, or of another kind"


def _plan(plain: dict[str, Any]) -> Plan:
    del plain["format"]
    entrants = tuple(
        Entrant(label, Settings.checked(settings))
        for label, settings in plain.pop("methods").items()
    )
    return Plan(
        **{
            **plain,
            "settings": Settings.checked(plain["settings"]),
            "source": ProblemSource(**plain["source"]),
            "problems": tuple(plain["problems"]),
            "limits": RunLimits(**plain["limits"]),
            "parts": tuple(plain["parts"]),
            "entrants": entrants,
        }
    )


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Be the one process that works on `folder`, which is made if it isn't there.

    Raises:
        ThreadBusy: another process works on it.
        StorageError: the folder can't be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / _LOCK)
        lock.acquire(blocking=False)
        (folder / _OWNER).write_text(f"{os.getpid()}\n")
    except Timeout:
        with suppress(OSError):
            pid = (folder / _OWNER).read_text().strip()
            raise ThreadBusy(
                f"run: process {pid} works on {folder}. Wait for it, or stop it."
            ) from None
        raise ThreadBusy(f"run: another process works on {folder}. Wait for it.") from None
    except OSError as error:
        raise unusable(folder, error) from error
    try:
        yield
    finally:
        lock.release()


def replace_file(file: Path, content: str) -> None:
    """Write `file` so that a crash leaves the old content or the new one.

    Raises:
        StorageError: it can't be written.
    """
    beside = file.with_name(file.name + ".new")
    try:
        with beside.open("w", encoding="utf-8") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, file)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise unusable(file, error) from error


def unusable(place: Path, error: OSError) -> StorageError:
    """The error for a file or folder of a run that can't be written."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "Free some room." if full else "See to its rights, or give another folder."
    return StorageError(f"run: {place} can't be written ({error.strerror}). {advice}")
