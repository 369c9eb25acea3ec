"""How a run stands: what is done, how well, at what cost, and how long the rest may take."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

from tmas_graph.evaluation.metrics import Status
from tmas_graph.models.budget import Budget
from tmas_graph.usage import Usage


class Purse(Budget):
    """A budget that tells when something was charged to it."""

    on_charge: Callable[[], None] | None = None

    def charge(self, usage: Usage) -> None:
        """Count `usage`, then tell."""
        super().charge(usage)
        if self.on_charge:
            self.on_charge()


@dataclass(frozen=True, slots=True)
class Golds:
    """For how many of a run's problems the right answer is known."""

    known: int = 0
    of: int = 0
    field: str = "answer"
    """Where in the data set they were looked for."""

    @property
    def note(self) -> str:
        """What a reader of accuracies should know of it; nothing where all are known."""
        if self.known == self.of:
            return ""
        what = f"{self.of - self.known:,} of {self.of:,} problems have no gold answer"
        left = "over the others" if self.known else "not known"
        return f"{what} (field {self.field!r}; --answer-key names another): accuracy is {left}"


@dataclass(slots=True)
class MethodStanding:
    """How one method stands."""

    total: int
    """Problems."""
    purse: Purse
    """What it has spent, over all sittings."""
    calls_each: float
    """Calls that a problem takes, as far as that is known before one has ended."""
    statuses: Counter[Status] = field(default_factory=Counter)
    """Of the answers of problems that are done."""
    failed: int = 0
    ended_calls: int = 0
    """Calls of the problems that ended in this sitting."""
    ended: int = 0
    """Problems that ended in this sitting."""
    candidates: int = 0
    truncated: int = 0
    """Those of them that were cut off."""
    most_tokens: int | None = None
    """At so many; None: where the server does."""

    @property
    def done(self) -> int:
        """Problems whose rows are written."""
        return self.statuses.total()

    @property
    def graded(self) -> int:
        """Those of them whose right answer is known."""
        return self.done - self.statuses["ungraded"]

    @property
    def accuracy(self) -> float | None:
        """Share of right answers among the graded problems that are done; None without any."""
        return self.statuses["correct"] / self.graded if self.graded else None

    @property
    def standard_error(self) -> float | None:
        """Of `accuracy`, over problems; None for fewer than two."""
        share = self.accuracy
        if share is None or self.graded < 2:
            return None
        return sqrt(share * (1 - share) / (self.graded - 1))

    @property
    def calls_left(self) -> float:
        """Calls until all its problems are done, about."""
        each = self.ended_calls / self.ended if self.ended else self.calls_each
        begun = max(0.0, self.purse.spent.calls - each * self.done)
        return max(0.0, each * (self.total - self.done - self.failed) - begun)


@dataclass(slots=True)
class RunStanding:
    """How a run stands; it changes while the run goes on."""

    purse: Purse
    """The whole run's."""
    methods: dict[str, MethodStanding]
    clock: Callable[[], float] = time.monotonic
    causes: Counter[str] = field(default_factory=Counter)
    """Why problems failed, a few distinct ones."""
    halted: int = 0
    """Problems that the run's budget broke off."""
    golds: Golds = Golds()
    began: float = 0.0
    calls_before: int = 0
    """Calls of earlier sittings."""

    def begin(self) -> None:
        """Take the time of this sitting from now."""
        self.began, self.calls_before = self.clock(), self.purse.spent.calls

    @property
    def ended(self) -> int:
        """Problems whose rows were made in this sitting."""
        return sum(method.ended for method in self.methods.values())

    @property
    def seconds(self) -> float:
        """Of this sitting."""
        return self.clock() - self.began

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest takes at the pace of this sitting; None if it has none yet."""
        made = self.purse.spent.calls - self.calls_before
        left = sum(method.calls_left for method in self.methods.values())
        return self.seconds * left / made if made else None

    @property
    def total(self) -> int:
        """Problems, counted for each method."""
        return sum(method.total for method in self.methods.values())

    @property
    def done(self) -> int:
        """Those whose rows are written."""
        return sum(method.done for method in self.methods.values())

    @property
    def failed(self) -> int:
        """Those that failed in this sitting."""
        return sum(method.failed for method in self.methods.values())

    @property
    def notes(self) -> list[str]:
        """What a reader of its figures should know."""
        golds = [self.golds.note] if self.golds.note else []
        return [*golds, *(note for m in self.methods.items() if (note := cut_off(*m)))]

    def fail(self, method: str, cause: str) -> None:
        """Count a problem that failed."""
        self.methods[method].failed += 1
        if cause in self.causes or len(self.causes) < 5:
            self.causes[cause] += 1


def cut_off(label: str, method: MethodStanding) -> str:
    """What to say where most candidates have no answer for want of tokens; else nothing."""
    if 2 * method.truncated <= method.candidates:
        return ""
    limit = (
        "the server's limit" if method.most_tokens is None else f"max_tokens={method.most_tokens}"
    )
    return (
        f"{label}: {method.truncated:,} of {method.candidates:,} candidates were cut off at "
        f"{limit}; in another run, raise it with --set max_tokens=…"
    )
