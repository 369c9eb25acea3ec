"""What `tmas memory` prints: items as a table, one whole, and what there is in numbers."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from tmas_graph.cli.columns import Column, table
from tmas_graph.cli.memory_source import Held, Source
from tmas_graph.cli.plain import line, words

_COUNTED = ("kind", "status", "problem", "run")
_MOST_COUNTED = 10


def print_json(value: object) -> None:
    """Print `value` for programs."""
    print(json.dumps(value, indent=2))  # noqa: T201


def print_items(held: Sequence[Held], total: int, title: str) -> None:
    """Print items, one a line, and of how many they are."""
    console = Console()
    if not held:
        console.print(words(f"No such items in {title}." if total else f"Nothing is in {title}."))
        return
    console.print(table(_columns(held), console.width))
    more = f" of {total}" if total > len(held) else ""
    console.print(words(f"{len(held)}{more} in {title}", "dim"), soft_wrap=True)


def print_item(one: Held) -> None:
    """Print all of one item."""
    console = Console()
    for name, value in one.plain().items():
        if value in ("", []):
            continue
        said = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        console.print(Text.assemble((f"{name:>14}  ", "dim"), line(said)), soft_wrap=True)


def statistics(held: Sequence[Held], source: Source) -> dict[str, Any]:
    """How many items there are of each kind, status, problem and run; what they take."""
    rows = [one.plain() for one in held]
    counts = {name: dict(Counter(row[name] for row in rows).most_common()) for name in _COUNTED}
    size = None if source.folder is None else _size(Path(source.folder))
    return {"items": len(rows), **counts, "embedder": source.embedder, "bytes": size}


def print_statistics(told: dict[str, Any], title: str) -> None:
    """Print what `statistics` gave."""
    console = Console()
    size = "" if told["bytes"] is None else f" · {decimal(told['bytes'])} on disk"
    head = f"{told['items']} items in {title} · vectors of {told['embedder']}{size}"
    console.print(words(head, "bold"), soft_wrap=True)
    for name in _COUNTED:
        counts = list(told[name].items())
        said = [f"{line(value) or '–'} {count}" for value, count in counts[:_MOST_COUNTED]]
        if len(counts) > _MOST_COUNTED:
            said.append(f"and {len(counts) - _MOST_COUNTED} more")
        console.print(words(f"{name:>8}: {' · '.join(said) or '–'}"), soft_wrap=True)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Draw how many of how many are done on the standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _columns(held: Sequence[Held]) -> list[Column]:
    rows = [one.plain() for one in held]
    names = [one.name for one in held]
    near = [f"{row['similarity']:.2f}" if "similarity" in row else "" for row in rows]

    def cells(name: str) -> list[str]:
        return [line(str(row[name])) for row in rows]

    return [
        Column("near", near, optional=True),
        Column("id", names, right=False),
        Column("kind", cells("kind"), rank=2, right=False),
        Column("status", cells("status"), rank=3, right=False),
        Column("support", cells("support"), rank=4, optional=True),
        Column("problem", cells("problem"), rank=5, right=False, optional=True),
        Column("run", cells("run"), rank=6, right=False, optional=True),
        Column("text", [_said(row) for row in rows], right=False),
    ]


def _said(row: dict[str, Any]) -> str:
    conditions = f" (if: {row['conditions']})" if row["conditions"] else ""
    return line(f"{row['text']}{conditions}")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
