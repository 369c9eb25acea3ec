"""Writes the numbers of a run: metrics.jsonl always, other trackers where asked for.

A line is `{"step": 12, "kind": "train", "loss": …}`; kinds are train, push, held_out and tmas.
Rates are divided here, once, after they were summed over ranks.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tmas_graph.errors import StorageError
from tmas_graph.grpo.samples import Rate
from tmas_graph.grpo.tracking import Tracker

Kind = Literal["train", "push", "held_out", "tmas"]
METRICS = "metrics.jsonl"
Record = Mapping[str, Any]


def flat(values: Mapping[str, Rate | float]) -> dict[str, float]:
    """Give plain numbers."""
    return {
        name: value.value if isinstance(value, Rate) else float(value)
        for name, value in values.items()
    }


class Metrics:
    """The numbers of one run."""

    def __init__(self, folder: Path, trackers: Sequence[Tracker] = ()) -> None:
        """Add to metrics.jsonl in `folder`."""
        self._file = folder / METRICS
        self._trackers = tuple(trackers)

    def log(self, step: int, kind: Kind, values: Mapping[str, Rate | float]) -> Record:
        """Write the numbers of a step; give the line.

        Raises:
            StorageError: the file can't be written.
        """
        numbers = flat(values)
        record = {"step": step, "kind": kind, **numbers}
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
        except OSError as error:
            raise _unwritable(self._file, error) from error
        prefix = "" if kind == "train" else f"{kind}/"
        for tracker in self._trackers:
            tracker.log(step, {prefix + name: value for name, value in numbers.items()})
        return record

    def forget_after(self, step: int) -> None:
        """Drop the lines of steps after `step`, which a resumed run makes again."""
        for tracker in self._trackers:
            tracker.forget_after(step)
        records = read(self._file.parent)
        kept = "".join(json.dumps(one) + "\n" for one in records if one["step"] <= step)
        partial = self._file.with_suffix(".partial")
        try:
            # A torn line at the end goes, too: the next one would be written behind it.
            if not self._file.exists() or self._file.read_text(encoding="utf-8") == kept:
                return
            with partial.open("w", encoding="utf-8") as file:
                file.write(kept)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._file)
        except OSError as error:
            raise _unwritable(self._file, error) from error

    def close(self) -> None:
        """Close all trackers."""
        for tracker in self._trackers:
            tracker.close()


def read(folder: Path) -> list[dict[str, Any]]:
    """Give the lines of the run in `folder`; one that was torn by a crash is left out."""
    try:
        lines = (folder / METRICS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise StorageError(f"{folder / METRICS}: can't be read ({error}). Mend it.") from error
    records = list[dict[str, Any]]()
    for line in lines:
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    return records


def _unwritable(file: Path, error: OSError) -> StorageError:
    return StorageError(f"{file}: can't be written ({error.strerror}). Free some room on its disk.")
