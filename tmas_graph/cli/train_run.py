"""`tmas train run`: trains a policy, graded by this package, and tried within TMAS."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from tmas_graph.grpo.interfaces import Tools
    from tmas_graph.grpo.rows import Row
    from tmas_graph.grpo.samples import Rate
    from tmas_graph.grpo.sampling import Served
    from tmas_graph.grpo.settings import RunSettings
    from tmas_graph.state import Result


def run(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file of the run.")],
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting, e.g. loss.clip_high=0.3."
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the newest checkpoint of the run.")
    ] = False,
) -> None:
    """Train a policy with GRPO and the hybrid reward, or by supervised fine-tuning."""
    import os

    from tmas_graph.grpo.settings_file import load

    settings = load(config, changes or ())
    from tmas_graph.grpo.run import train_in_terminal  # loads torch

    train_in_terminal(settings, os.environ, tools_of, resume=resume)


def tools_of(settings: "RunSettings", key: str = "") -> "Tools":
    """The package's grader, and TMAS itself, for the trainer, which knows neither."""
    from tmas_graph.answers.equivalence import grade
    from tmas_graph.grpo.grading import shared_words
    from tmas_graph.grpo.interfaces import Tools
    from tmas_graph.grpo.sampling import Served as Policy

    if settings.evaluation.tmas_every:
        _solving(settings, Policy("policy"), key)  # a wrong setting is found at once

    async def try_tmas(served: "Served", rows: "Sequence[Row]", step: int) -> "Mapping[str, Rate]":
        return await tried(settings, served, rows, key)

    return Tools(
        lambda text, gold: grade(text, gold).outcome == "correct", shared_words, None, try_tmas
    )


async def tried(
    settings: "RunSettings", served: "Served", rows: "Sequence[Row]", key: str = ""
) -> "Mapping[str, Rate]":
    """Solve held-out problems by TMAS with the served policy; rates by iteration."""
    import asyncio

    from tmas_graph.errors import AllCandidatesFailed
    from tmas_graph.models import pool
    from tmas_graph.running import asolve
    from tmas_graph.state import Problem

    solving = _solving(settings, served, key)

    async def solved(row: "Row") -> "Result | None":
        try:
            return await asolve(Problem(row.question), solving)
        except AllCandidatesFailed:
            return None

    known = [row for row in rows if row.question]
    try:
        results = await asyncio.gather(*map(solved, known))
    finally:
        await pool.close()
    found = [(one, row.ground_truth) for one, row in zip(results, known, strict=True) if one]
    return {**await _by_iteration(found), "failed": _rate(len(known) - len(found), len(known))}


def _solving(settings: "RunSettings", served: "Served", key: str) -> Any:
    from tmas_graph import Settings

    server: dict[str, Any] = {"base_url": f"{settings.server.url}/v1", "model": served.model}
    if key:
        server["api_key"] = key
    own = {
        "early_stop": False,  # each iteration is to be told of all problems
        "concurrency": settings.server.concurrency,
        "temperature": settings.sampling.temperature,
        "max_tokens": settings.sampling.max_tokens,
        **settings.evaluation.tmas_settings,
    }
    return Settings.preset("fast", **server, **own)


async def _by_iteration(found: "Sequence[tuple[Result, str]]") -> "dict[str, Rate]":
    """Share of right candidates, and of right selected answers, after each iteration."""
    from collections import defaultdict

    marks = defaultdict[str, list[bool]](list)
    for result, gold in found:
        for attempt in result.attempts:
            right = await _is_right(attempt.answer, gold)
            marks[f"pass@1/iteration_{attempt.iteration}"].append(right)
        for standing in result.standings:
            right = await _is_right(standing.answer, gold)
            marks[f"selected/iteration_{standing.iteration}"].append(right)
    return {name: _rate(sum(hits), len(hits)) for name, hits in marks.items()}


async def _is_right(answer: str | None, gold: str) -> bool:
    from tmas_graph.answers.equivalence import agrade

    if answer is None:
        return False
    return (await agrade(rf"\boxed{{{answer}}}", gold)).outcome == "correct"


def _rate(numerator: float, denominator: float) -> "Rate":
    from tmas_graph.grpo.samples import Rate

    return Rate(numerator, denominator)
