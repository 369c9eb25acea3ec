"""Tries the policy on held-out prompts: the share of right completions, mode by mode."""

import asyncio
from collections.abc import Mapping, Sequence

from tmas_graph.grpo.interfaces import Sampler, Tools
from tmas_graph.grpo.rewards import is_correct
from tmas_graph.grpo.rows import SOURCES, Row
from tmas_graph.grpo.samples import Rate
from tmas_graph.grpo.scoring import completion_of
from tmas_graph.grpo.together import all_of

SEED = 2**62
"""Far from those of training; the same at each evaluation, so that only the policy differs."""


def chosen(rows: Sequence[Row], most: int | None) -> list[Row]:
    """Give at most so many rows of each mode, the first ones."""
    found: list[Row] = []
    for source in SOURCES:
        found += [row for row in rows if row.source == source][:most]
    return found


async def evaluate(
    sampler: Sampler, tools: Tools, rows: Sequence[Row], samples: int
) -> Mapping[str, Rate]:
    """Give pass@1 of each mode, its mean over `samples` completions of each prompt.

    Raises:
        CallError: the server can't be reached, or refuses.
    """

    async def tried(place: int, row: Row) -> int:
        group = await sampler.group(row.prompt, SEED + place * samples, samples)
        return await asyncio.to_thread(
            lambda: sum(
                is_correct(completion_of(one, row.source, row), row.ground_truth, tools.grader)
                for one in group
            )
        )

    right = await all_of(tried(place, row) for place, row in enumerate(rows))
    found = dict[str, Rate]()
    for source in SOURCES:
        marks = [hits for hits, row in zip(right, rows, strict=True) if row.source == source]
        if marks:
            found[f"pass@1/{source}"] = Rate(sum(marks), samples * len(marks))
    return found


def problems(rows: Sequence[Row], most: int) -> list[Row]:
    """Give one row of each problem, those without a bank first, at most so many."""
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: SOURCES.index(row.source)):
        found.setdefault(row.problem or row.ground_truth, row)
    return list(found.values())[:most]
