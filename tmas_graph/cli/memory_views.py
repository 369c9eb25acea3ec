"""What `tmas memory` prints: items as a table, one whole, and what there is in numbers."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from tmas_graph.cli.columns import Column, table
from tmas_graph.cli.counting import counted
from tmas_graph.cli.memory_source import Held, Source
from tmas_graph.cli.plain import line, words
from tmas_graph.settings import near

_COUNTED = ("kind", "status", "problem", "run")
_MOST_COUNTED = 10
_LEAST_TEXT = 30
"""Letters of an item that a table shows at least."""
_LONGEST_QUESTION = 24
_CONSTANT = 10
"""Added to the rank of a column that says the same of all items: it goes before all others."""


def print_json(value: object) -> None:
    """Print `value` for programs."""
    print(json.dumps(value, indent=2))  # noqa: T201


def print_items(held: Sequence[Held], total: int, title: str) -> None:
    """Print items, one a line, and of how many they are."""
    console = Console()
    console.print(table(_columns(held), console.width, _LEAST_TEXT))
    more = f" of {total}" if total > len(held) else ""
    console.print(words(f"{len(held)}{more} in {title}", "dim"), soft_wrap=True)


def print_found(held: Sequence[Held], far: int, source: Source) -> None:
    """Print what a search found, how near that is, and how many of the nearest are `far` away."""
    if held:
        print_items(held, len(held), source.title)
    else:
        _note(f"Nothing in {source.title} is like that.")
    if far:
        _note(f"{counted(far, 'item')} left out: nothing in common with the text")
    if not source.knows_meaning:
        _note("similarity by hashing: shared words and letters, not meaning")


def print_none(meant: Mapping[str, str], all_of_it: Sequence[Held], title: str) -> None:
    """Say that no item is as `meant`, and what there is."""
    if not all_of_it:
        Console().print(words(f"Nothing is in {title}."), soft_wrap=True)
        return
    rows = [one.plain() for one in all_of_it]
    counts = {name: Counter(str(row[name]) for row in rows) for name in meant}
    hints = {n: near(v, counts[n]) if v not in counts[n] else "" for n, v in meant.items()}
    asked = " ".join(f"--{name} {value!r}{hints[name]}" for name, value in meant.items())
    said = f"Nothing in {title} matches {asked}. It holds {counted(len(rows), 'item')}:"
    Console().print(words(said), soft_wrap=True)
    for name, count in counts.items():
        _print_counts(name, count)


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
    questions = {row["problem"]: row["question"] for row in rows if row["question"]}
    size = None if source.folder is None else _size(Path(source.folder))
    told = {"items": len(rows), **counts, "questions": questions}
    return {**told, "embedder": source.embedder, "bytes": size}


def print_statistics(told: dict[str, Any], title: str) -> None:
    """Print what `statistics` gave."""
    size = "" if told["bytes"] is None else f" · {decimal(told['bytes'])} on disk"
    head = f"{counted(told['items'], 'item')} in {title} · vectors of {told['embedder']}{size}"
    Console().print(words(head, "bold"), soft_wrap=True)
    for name in _COUNTED:
        if name != "problem":
            _print_counts(name, told[name])
    _print_problems(told["problem"], told["questions"])


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


def _note(said: str) -> None:
    Console().print(words(said, "dim"), soft_wrap=True)


def _print_counts(name: str, counts: Mapping[str, int]) -> None:
    ordered = sorted(counts.items(), key=lambda pair: -pair[1])
    said = [f"{line(value) or '–'} {count}" for value, count in ordered[:_MOST_COUNTED]]
    if len(ordered) > _MOST_COUNTED:
        said.append(f"and {len(ordered) - _MOST_COUNTED} more")
    Console().print(words(f"{name:>8}: {' · '.join(said) or '–'}"), soft_wrap=True)


def _print_problems(counts: Mapping[str, int], questions: Mapping[str, str]) -> None:
    console = Console()
    if not counts:
        return
    problems = list(counts)[:_MOST_COUNTED]
    columns = [
        Column("items", [str(counts[name]) for name in problems]),
        Column("problem", [line(name) or "–" for name in problems], right=False),
        Column(
            "question", [line(questions.get(name, "")) or "–" for name in problems], right=False
        ),
    ]
    console.print(table(columns, console.width))
    if len(counts) > len(problems):
        _note(f"and {counted(len(counts) - len(problems), 'more problem')}; --json lists them all")


def _columns(held: Sequence[Held]) -> list[Column]:
    rows = [one.plain() for one in held]
    near = [f"{row['similarity']:.2f}" if "similarity" in row else "" for row in rows]

    def column(title: str, rank: int, cells: Sequence[str], **how: bool) -> Column:
        constant = _CONSTANT if len(set(cells)) == 1 else 0
        return Column(title, cells, rank + constant, right=False, **how)

    def cells(name: str) -> list[str]:
        return [line(str(row[name])) for row in rows]

    return [
        Column("near", near, optional=True),
        Column("id", [one.short for one in held], right=False),
        column("kind", 2, cells("kind")),
        column("status", 3, cells("status")),
        Column("support", cells("support"), rank=6, optional=True),
        column("problem", 5, [_problem(row) for row in rows], optional=True),
        column("run", 7, cells("run"), optional=True),
        column("since", 4, [_since(row) for row in rows]),
        Column("text", [_said(row) for row in rows], right=False),
    ]


def _problem(row: dict[str, Any]) -> str:
    """How its question begins or, where that isn't known, its id."""
    said = line(row["question"] or row["problem"])
    return said if len(said) <= _LONGEST_QUESTION else f"{said[: _LONGEST_QUESTION - 1]}…"


def _since(row: dict[str, Any]) -> str:
    """The day of its publication or, where that isn't known, the iteration it is from."""
    return line(row["time"][:10]) or f"t {row['iteration']}"


def _said(row: dict[str, Any]) -> str:
    conditions = f" (if: {row['conditions']})" if row["conditions"] else ""
    return line(f"{row['text']}{conditions}")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
