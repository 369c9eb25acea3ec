"""What a step learns from: drawn and scored completions, or verified ones out of a file."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from tmas_graph.errors import StorageError
from tmas_graph.grpo import scoring
from tmas_graph.grpo.asking import Asking
from tmas_graph.grpo.drawing import Drawing
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.samples import Rate, Sample, TrainingRow
from tmas_graph.grpo.scoring import Scored, Scoring


@dataclass(frozen=True, slots=True)
class Lesson:
    """The rows of one step, over all ranks."""

    rows: tuple[TrainingRow, ...]
    consumed: int
    """Where the next lesson begins in the data."""
    metrics: Mapping[str, Rate | float] = field(default_factory=dict)
    scored: tuple[Scored, ...] = ()
    """What the rows were made of, to be kept on the disk."""


class Lessons(Protocol):
    """Gives one lesson after the other."""

    async def next(self, start: int, version: int) -> Lesson:
        """Give the lesson that begins at `start`, for a policy of `version`."""
        ...


class Drawn:
    """Lessons of completions that the policy draws."""

    def __init__(self, drawing: Drawing, scoring: Scoring, groups: int) -> None:
        """Make each lesson of so many groups."""
        self._drawing = drawing
        self._scoring = scoring
        self._groups = groups

    async def next(self, start: int, version: int) -> Lesson:
        """Draw, then score; see `Lessons.next`.

        Raises:
            CallError: the server can't be reached, or refuses.
        """
        began = perf_counter()
        drawn = await self._drawing.take(self._groups, start)
        waited = perf_counter() - began
        scored = await self._scoring.groups(drawn)
        counts = self._drawing.counts
        metrics: dict[str, Rate | float] = {
            **scoring.told(scored, version),
            "dropped/stale": counts.stale,
            "dropped/refused": counts.refused,
            "seconds/draw": waited,
            "seconds/score": perf_counter() - began - waited,
        }
        rows = scoring.training_rows(scored)
        return Lesson(rows, drawn[-1].index + 1, metrics, scored)


class Verified:
    """Lessons of verified completions, each row a group of its own."""

    def __init__(self, samples: Sequence[Sample], order: Asking, rows: int) -> None:
        """Make each lesson of `rows` of `samples`, in the order that `order` gives their rows."""
        self._samples = tuple(samples)
        self._order = order
        self._rows = rows

    async def next(self, start: int, version: int) -> Lesson:
        """Take the next ones; see `Lessons.next`."""
        places = [self._order(start + at).row.index for at in range(self._rows)]
        rows = tuple(TrainingRow(self._samples[place], group) for group, place in enumerate(places))
        return Lesson(rows, start + self._rows, {"version": version})


def read_verified(file: Path) -> list[tuple[tuple[Message, ...], str]]:
    """Give prompt and completion of each line of `file`; those marked not correct are left out.

    The files in samples/ of a training run have this form.

    Raises:
        StorageError: it can't be read, or a line isn't of that form.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{file}: can't be read ({error}). Give JSONL with prompt and completion."
        ) from error
    read = [_pair(f"{file}:{at}", line) for at, line in enumerate(lines, 1) if line.strip()]
    found = [pair for pair in read if pair is not None]
    if not found:
        raise StorageError(f"{file}: no verified completion is in it. Give another file.")
    return found


def _pair(where: str, line: str) -> tuple[tuple[Message, ...], str] | None:
    try:
        record: Any = json.loads(line)
        messages = tuple(
            Message(role=str(one["role"]), content=str(one["content"])) for one in record["prompt"]
        )
        completion = record["completion"]
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{where}: no prompt and completion can be read ({error!r:.100}). Give "
            '{"prompt": [{"role": "user", "content": "…"}], "completion": "…"}.'
        ) from error
    if not messages or not isinstance(completion, str) or not completion:
        raise StorageError(f"{where}: prompt or completion is empty. Remove the line.")
    return (messages, completion) if record.get("correct", True) else None
