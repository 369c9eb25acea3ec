"""The form of a run's `run.json`: which one this version reads, and what to say of another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tmas_graph.errors import StorageError

FORMAT = 1


def refuse_other_format(file: Path, values: Mapping[str, Any]) -> None:
    """Refuse what another version of tmas-graph wrote, in another form.

    Raises:
        StorageError: it did; the message names that version, where the file does.
    """
    found = values.get("format", FORMAT)
    if found == FORMAT and not isinstance(found, bool):
        return
    versions = values.get("versions")
    known = versions.get("tmas-graph") if isinstance(versions, Mapping) else None
    named = f"tmas-graph {known!s:.20}" if known else "another version of tmas-graph"
    raise StorageError(
        f"{file}: was made by {named}, in format {found!r:.20}; this version reads {FORMAT}. "
        "Use that version."
    )
