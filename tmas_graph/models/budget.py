"""Budgets: what a problem, or a run of many problems, may spend on model calls."""

import time
from collections.abc import Callable
from typing import Self

from tmas_graph.errors import BudgetSpent, SettingsError
from tmas_graph.settings import Settings
from tmas_graph.usage import Usage

_LIMITS = ("max_calls", "max_total_tokens", "max_cost", "max_seconds")


def _is_limit(limit: object) -> bool:
    number = isinstance(limit, int | float) and not isinstance(limit, bool)
    return number and limit > 0  # type: ignore[operator]


class Budget:
    """Counts what is spent, and says when no further call may begin.

    Calls in flight when a limit is reached are finished and counted, so that a little more may be
    spent; only when `max_seconds` are over they are given up.
    """

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_total_tokens: int | None = None,
        max_cost: float | None = None,
        max_seconds: float | None = None,
        within: "Budget | None" = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set limits; None is no limit. What is spent here counts in the budget `within` too.

        Raises:
            SettingsError: a limit is no number above 0.
        """
        given = (max_calls, max_total_tokens, max_cost, max_seconds)
        for name, limit in zip(_LIMITS, given, strict=True):
            if limit is not None and not _is_limit(limit):
                raise SettingsError(f"budget: {name} is {limit!r}. Give a number above 0, or None.")
        self.max_calls = max_calls
        self.max_total_tokens = max_total_tokens
        self.max_cost = max_cost
        self.max_seconds = max_seconds
        self.within = within
        self.spent = Usage()
        self._clock = clock
        self._began = clock()

    @classmethod
    def of(cls, settings: Settings, *, within: "Budget | None" = None) -> Self:
        """The budget of one problem, as `settings` limit it."""
        return cls(
            max_calls=settings.max_calls,
            max_total_tokens=settings.max_total_tokens,
            max_cost=settings.max_cost,
            max_seconds=settings.max_seconds,
            within=within,
        )

    def carry(self, spent: Usage, seconds: float) -> None:
        """Count what an earlier sitting of the same problem or run spent."""
        self.spent += spent
        self._began -= seconds

    def charge(self, usage: Usage) -> None:
        """Count `usage`, here and in the budget that this one is within."""
        self.spent += usage
        if self.within:
            self.within.charge(usage)

    @property
    def seconds(self) -> float:
        """For how long it has been in use, earlier sittings included."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the first time limit; None without one."""
        own = None if self.max_seconds is None else max(0.0, self.max_seconds - self.seconds)
        outer = self.within.seconds_left if self.within else None
        known = [left for left in (own, outer) if left is not None]
        return min(known, default=None)

    def exhausted(self) -> str:
        """Which limit is reached, in words; empty while another call may begin."""
        pairs = (
            ("max_calls", self.spent.calls, self.max_calls),
            ("max_total_tokens", self.spent.tokens, self.max_total_tokens),
            ("max_cost", self.spent.cost, self.max_cost),
            ("max_seconds", self.seconds, self.max_seconds),
        )
        for name, spent, limit in pairs:
            if limit is not None and spent >= limit:
                return f"{name} {limit:g} is reached"
        return f"the run's {reason}" if self.within and (reason := self.within.exhausted()) else ""

    def check(self) -> None:
        """Make sure that another call may begin.

        Raises:
            BudgetSpent: it may not.
        """
        if self.exhausted():
            raise self.refusal()

    def refusal(self) -> BudgetSpent:
        """The error that says which limit is reached."""
        return BudgetSpent(f"budget: {self.exhausted()}. Resume with more to go on.")
