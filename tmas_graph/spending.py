"""The account of a run: what each role spent in each iteration, and which limit that reaches.

Rows are plain tuples, because a checkpoint holds them all. Not covered: calls that were broken off
(by Ctrl-C, say) and a bank's that got no reply, which only a Budget has counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from tmas_graph.models.budget import Budget
from tmas_graph.settings import ROLES, Settings
from tmas_graph.state import Rollout, Spend
from tmas_graph.usage import Usage, summed

Row = tuple[int, str, tuple[float, ...]]
"""Iteration, role, and the fields of a Usage."""


def rows_of(
    iteration: int, rollouts: Sequence[Rollout], banks: Mapping[str, Usage]
) -> tuple[Row, ...]:
    """The rows of one iteration, in the order of the roles; of those alone that spent anything."""
    spent = {
        role: summed(r.usage.get(role, Usage()) for r in rollouts) + banks.get(role, Usage())
        for role in ROLES
    }
    return tuple(
        (iteration, role, astuple(usage)) for role, usage in spent.items() if usage != Usage()
    )


def account(state: Mapping[str, Any]) -> tuple[Spend, ...]:
    """All that the graph's `state` knows of, the candidates of an unfinished iteration included."""
    iteration = state.get("iteration", 0)
    begun = [r for r in state.get("rollouts", ()) if r.iteration == iteration]
    rows = (*state.get("spend", ()), *rows_of(iteration, begun, {}))
    return tuple(Spend(t, role, Usage(*values)) for t, role, values in rows)


def total(spends: Sequence[Spend]) -> Usage:
    """What all rows come to."""
    return summed(spend.usage for spend in spends)


def limit_reached(state: Mapping[str, Any], settings: Settings, budget: Budget | None) -> str:
    """Which limit allows no further call, in words; empty while one may begin.

    Without a `budget` only what `state` holds can be compared: calls, tokens and cost.
    """
    known = Budget.of(settings.model_copy(update={"max_seconds": None}))
    known.carry(total(account(state)), 0.0)
    return known.exhausted() or (budget.exhausted() if budget else "")
