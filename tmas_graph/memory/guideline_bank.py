"""The guideline bank: which strategies were tried, as a list without repetitions.

The list itself lives in the graph's state; these are the pure functions on it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tmas_graph.memory.similarity import same_statement
from tmas_graph.prompts import estimate_tokens
from tmas_graph.state import Strategy


def merged(known: Sequence[Strategy], new: Iterable[Strategy]) -> tuple[Strategy, ...]:
    """`known` with the `new` ones added; one that is listed already gains iterations only."""
    bank = list(known)
    for strategy in new:
        for place, old in enumerate(bank):
            if _same(old, strategy):
                iterations = tuple(sorted({*old.iterations, *strategy.iterations}))
                bank[place] = replace(old, iterations=iterations)
                break
        else:
            bank.append(strategy)
    return tuple(bank)


def listed(strategies: Sequence[Strategy], tokens: int) -> tuple[Strategy, ...]:
    """All `strategies`, for a prompt of about `tokens`; the oldest are listed by name alone.

    No name is ever left out: a strategy that isn't listed would be tried again.
    """
    left = tokens - sum(estimate_tokens(s.name) for s in strategies)
    shown = []
    for strategy in reversed(strategies):
        left -= estimate_tokens(strategy.essence)
        shown.append(strategy if left >= 0 else replace(strategy, essence=""))
    return tuple(reversed(shown))


def _same(one: Strategy, other: Strategy) -> bool:
    return same_statement(one.name, other.name) or same_statement(
        f"{one.name}: {one.essence}", f"{other.name}: {other.essence}"
    )
