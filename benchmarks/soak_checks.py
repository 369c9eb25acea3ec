"""What must be true after a soak: every problem once, every call paid for once, memory flat."""

import sqlite3
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.soak_sittings import Sitting
from tmas_graph.evaluation import run_rows
from tmas_graph.threads import look_into
from tmas_graph.usage import Usage, summed

_SETTLED = 0.25
"""Of a sitting's problems, the first share that the lines through its memory leave out."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one place says that the run took."""

    requests: int
    """Sent, those that failed included."""
    answered: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """Answers that were paid for, and yet asked for again."""

    after_kills: int
    """Answered within the grace before a kill, or on their way when it came."""
    others: int
    earliest: float
    """Seconds before a kill, of the answer that was lost longest before one."""


def problems(folder: Path) -> Counter[str]:
    """How often each problem ended in the file of rows."""
    found = run_rows.read(folder / run_rows.FILE)
    lines = (folder / run_rows.FILE).read_text().splitlines()
    ended = Counter(row.problem for row in found.rows if row.stop is not None)
    if len(lines) != len(found.rows):
        ended["(a row that stands twice)"] += len(lines) - len(found.rows)
    return ended


def of_rows(folder: Path) -> Usage:
    """What the rows say was spent."""
    return summed(row.spent for row in run_rows.read(folder / run_rows.FILE).rows)


async def of_store(folder: Path) -> Spent:
    """What the stored calls say was spent."""
    requests = answered = tokens = 0
    async with look_into(folder) as store:
        for record in await store.all():
            async for call in store.calls(record.id).all():
                requests += len(call.sendings)
                answered += sum(sending.outcome == "answered" for sending in call.sendings)
                tokens += call.usage.completion_tokens
    return Spent(requests, answered, tokens)


def is_sound(database: Path) -> bool:
    """Whether SQLite finds nothing wrong with the database."""
    with closing(sqlite3.connect(database)) as opened:
        return bool(opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)])


def repeated(
    answers: Sequence[tuple[str, float]], kills: Sequence[float], grace: float
) -> Repeated:
    """Of requests that were answered more than once: what came of the earlier answers.

    An answer is lost by right if the next kill came less than `grace` seconds after it, and before
    its repetition.
    """
    by_digest: dict[str, list[float]] = {}
    for digest, at in answers:
        by_digest.setdefault(digest, []).append(at)
    after = others = 0
    earliest = 0.0
    for times in by_digest.values():
        for first, second in pairwise(times):
            place = bisect_left(kills, first)
            # Written to a connection that the kill had just cut: the kill came before it.
            late = place > 0 and first - kills[place - 1] < grace
            kill = kills[place - 1] if late else kills[place] if place < len(kills) else None
            if kill is None or kill > second or kill - first > grace:
                others += 1
            else:
                after += 1
                earliest = max(earliest, kill - first)
    return Repeated(after, others, earliest)


def slope(sittings: Sequence[Sitting], name: str) -> float | None:
    """How much more of `name` there is for each 1 000 problems; None if too little was seen.

    The line through all sittings at once, each with a height of its own, for each begins anew;
    what a sitting needs until it is warm is left out.
    """
    over = under = 0.0
    for sitting in sittings:
        most = max((sample.finished for sample in sitting.samples), default=0)
        seen = [s for s in sitting.samples if s.finished and s.finished >= _SETTLED * most]
        if len({sample.finished for sample in seen}) < 3:
            continue
        mean = sum(sample.finished for sample in seen) / len(seen)
        over += sum((s.finished - mean) * getattr(s, name) for s in seen)
        under += sum((s.finished - mean) ** 2 for s in seen)
    return 1000 * over / under if under else None
