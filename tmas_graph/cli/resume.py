"""`tmas resume`: go on where a thread stopped, or do more than it was asked for."""

from typing import Annotated

import typer

from tmas_graph.cli.options import (
    Assignments,
    BaseUrl,
    Config,
    Home,
    Iterations,
    Json,
    MaxCalls,
    MaxCost,
    MaxSeconds,
    MaxTotalTokens,
    ModelName,
    changes_of,
    home_of,
)


def resume(
    thread: Annotated[str, typer.Argument(help="Its name; `tmas threads` lists them.")],
    iterations: Iterations = None,
    max_calls: MaxCalls = None,
    max_total_tokens: MaxTotalTokens = None,
    max_cost: MaxCost = None,
    max_seconds: MaxSeconds = None,
    assignments: Assignments = None,
    base_url: BaseUrl = None,
    model: ModelName = None,
    accept_changes: Annotated[
        bool, typer.Option(help="Go on though prompts, models or settings changed.")
    ] = False,
    as_json: Json = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Let a thread go on; no finished model call is made again.

    The settings are those it was made with, but for what is given here; keys are read anew.
    """
    from tmas_graph.cli.session import go_on
    from tmas_graph.configuration import load

    changes = changes_of(
        assignments,
        iterations=iterations,
        max_calls=max_calls,
        max_total_tokens=max_total_tokens,
        max_cost=max_cost,
        max_seconds=max_seconds,
        base_url=base_url,
        model=model,
    )
    keys = load(config).settings
    go_on(thread, changes, keys, home_of(home), accept_changes=accept_changes, as_json=as_json)
