"""What must be true after a soak: every problem once, every call paid for once, memory flat."""

import math
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
_MANY = 4
"""Killed sittings whose most can be compared."""


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
    leads: Sequence[float]
    """Seconds by which the answers that were lost came before the kill, least first."""

    def lead(self, share: float) -> float:
        """The lead that so large a share of the lost answers has at most; 0 if none was lost."""
        return self.leads[math.ceil(share * len(self.leads)) - 1] if self.leads else 0.0


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
    leads = []
    for times in by_digest.values():
        for first, second in pairwise(times):
            place = bisect_left(kills, first)
            # Written to a connection that the kill had just cut: the kill came before it.
            late = place > 0 and first - kills[place - 1] < grace
            kill = kills[place - 1] if late else kills[place] if place < len(kills) else None
            if kill is None or kill > second:
                others += 1
                continue
            leads.append(max(0.0, kill - first))
            if kill - first > grace:
                others += 1
            else:
                after += 1
    return Repeated(after, others, sorted(leads))


def slope(sittings: Sequence[Sitting], name: str) -> float | None:
    """How much more of `name` there is for each 1 000 problems; None if too little was seen.

    Of a run that was killed again and again, from sitting to sitting, the most of each: while it
    lasts, a short one opens more and more problems at once. Else within sittings, but for what
    each needs until it is warm.
    """
    killed = [sitting for sitting in sittings if sitting.killed is not None]
    many = len(killed) >= _MANY
    lines = [_between(killed, name)] if many else [_within(sitting, name) for sitting in sittings]
    over = under = 0.0
    for line in lines:
        if len({at for at, _ in line}) < 3:
            continue
        mean = sum(at for at, _ in line) / len(line)
        over += sum((at - mean) * value for at, value in line)
        under += sum((at - mean) ** 2 for at, _ in line)
    return 1000 * over / under if under else None


def _within(sitting: Sitting, name: str) -> list[tuple[int, float]]:
    least = _SETTLED * sitting.finished
    return [(s.finished, getattr(s, name)) for s in sitting.samples if s.finished >= least > 0]


def _between(sittings: Sequence[Sitting], name: str) -> list[tuple[int, float]]:
    line, before = [], 0
    for sitting in sittings:
        line.append((before, sitting.most(name)))
        before += sitting.finished
    return line
