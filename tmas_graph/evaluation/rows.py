"""Reads rows into problems and their gold answers, and says which row is wrong and how."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from tmas_graph.errors import ProblemError
from tmas_graph.settings import near
from tmas_graph.state import Problem

_GUESSES = {
    "problem_id": ("id", "unique_id", "problem_idx", "uid", "key", "name"),
    "question": ("problem", "text", "prompt", "input", "Problem", "Question"),
    "answer": ("gold", "target", "expected", "Answer", "final_answer", "solution"),
}


@dataclass(frozen=True, slots=True)
class Keys:
    """What the fields of a row are called."""

    problem_id: str | None = "problem_id"
    """None numbers the rows."""
    question: str = "question"
    answer: str = "answer"


class Placed(NamedTuple):
    """A row and where it stands, for messages."""

    where: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Problems:
    """Problems in order; gold answers stay apart, so that no method can see one."""

    problems: tuple[Problem, ...]
    golds: Mapping[str, str]
    """By problem id; without those whose answer isn't known."""


def jsonl(file: Path) -> Iterator[Placed]:
    """Read the rows of a JSONL file; empty lines don't count.

    Raises:
        ProblemError: the file can't be read, or a line is no JSON object.
    """
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as reason:
        raise ProblemError(f"{file}: can't be read ({reason}). Give a JSONL file.") from reason
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield Placed(f"{file}:{number}", _object(line, f"{file}:{number}"))


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as reason:
        raise ProblemError(f"{where}: not JSON ({reason}). Write one object a line.") from reason
    if not isinstance(row, dict):
        raise ProblemError(f"{where}: a {type(row).__name__}, not an object. Write {{...}}.")
    return row


def read(rows: Iterable[Placed], keys: Keys, *, name: str) -> Problems:
    """Make problems of `rows`; `name` begins the ids of rows that have none.

    Raises:
        ProblemError: a row can't be used, an id stands twice, or there is no row.
    """
    problems, golds, seen = list[Problem](), dict[str, str](), dict[str, str]()
    for number, row in enumerate(rows, start=1):
        problem_id = _id(row, keys, f"{name}-{number:04d}")
        if problem_id in seen:
            raise ProblemError(
                f"{row.where}: {problem_id!r} is the id of {seen[problem_id]}, too. "
                "Give each problem an id of its own."
            )
        seen[problem_id] = row.where
        problems.append(Problem(_text(row, keys.question, "question"), problem_id))
        if (gold := _gold(row, keys.answer)) is not None:
            golds[problem_id] = gold
    if not problems:
        raise ProblemError(f"{name}: there is no problem in it. Give one JSON object a line.")
    return Problems(tuple(problems), golds)


def _id(row: Placed, keys: Keys, numbered: str) -> str:
    if keys.problem_id is None:
        return numbered
    value = row.values.get(keys.problem_id)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(row, keys.problem_id, "problem_id").strip()


def _text(row: Placed, key: str, field: str) -> str:
    if key not in row.values:
        raise ProblemError(_missing(row, key, field))
    value = row.values[key]
    if not isinstance(value, str) or not value.strip():
        raise ProblemError(f'{row.where}: "{key}" is {value!r:.60}. Write a text.')
    return value


def _gold(row: Placed, key: str) -> str | None:
    value = row.values.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    odd = isinstance(value, bool) or (isinstance(value, float) and not isfinite(value))
    if isinstance(value, str | int | float) and not odd:
        return str(value)
    raise ProblemError(f'{row.where}: "{key}" is {value!r:.60}. Write a text or a number.')


def _missing(row: Placed, key: str, field: str) -> str:
    keys = [str(name) for name in row.values]
    option = f"--{field.removeprefix('problem_')}-key"
    candidate = next((name for name in _GUESSES[field] if name in keys), None)
    what = f'{row.where}: no "{key}"{near(key, keys)} (keys: {", ".join(keys)[:200]}).'
    if candidate is None:
        return f"{what} Add it, or pass {option} NAME."
    return f'{what} Rename "{candidate}" or pass {option} {candidate}.'
