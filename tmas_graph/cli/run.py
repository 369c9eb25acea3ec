"""`tmas run`: many problems with many methods, in a folder from which they go on."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tmas_graph.cli.options import (
    Assignments,
    BaseUrl,
    Candidates,
    Config,
    Epsilon,
    Iterations,
    Json,
    LocalModel,
    MaxCalls,
    MaxCost,
    MaxSeconds,
    MaxTotalTokens,
    Methods,
    ModelName,
    Preset,
    Seed,
    Verifications,
    changes_of,
)

if TYPE_CHECKING:
    from tmas_graph.cli.run_session import Wanted
    from tmas_graph.evaluation.runner import Executor

_PROBLEMS, _RUN = "Problems", "Run"
Where = Literal["local", "ray"]
Limit = Annotated[
    int | None, typer.Option(min=1, help="The first so many.", rich_help_panel=_PROBLEMS)
]
Ids = Annotated[
    list[str] | None,
    typer.Option("--id", help="This problem; can be repeated.", rich_help_panel=_PROBLEMS),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Where your copy of a named one is: JSONL, folder or hub id.",
        rich_help_panel=_PROBLEMS,
    ),
]
Split = Annotated[str | None, typer.Option(help="Split, of a hub id.", rich_help_panel=_PROBLEMS)]
IdKey = Annotated[str | None, typer.Option(help="Field with the id.", rich_help_panel=_PROBLEMS)]
QuestionKey = Annotated[
    str | None, typer.Option(help="Field with the question.", rich_help_panel=_PROBLEMS)
]
AnswerKey = Annotated[
    str | None, typer.Option(help="Field with the gold answer.", rich_help_panel=_PROBLEMS)
]


def run(
    benchmark: Annotated[
        str | None, typer.Argument(help="A data set's name, a JSONL file, or a Hugging Face id.")
    ] = None,
    methods: Methods = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run; default: runs/NAME-TIME.", rich_help_panel=_RUN),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Let the run in this folder go on; more problems, methods or iterations may be "
            "given.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    limit: Limit = None,
    ids: Ids = None,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="I/N", help="Only the I-th of N parts; see tmas merge.", rich_help_panel=_RUN
        ),
    ] = None,
    path: From = None,
    split: Split = None,
    id_key: IdKey = None,
    question_key: QuestionKey = None,
    answer_key: AnswerKey = None,
    run_max_calls: Annotated[
        int | None, typer.Option(help="Budget of calls of the whole run.", rich_help_panel=_RUN)
    ] = None,
    run_max_tokens: Annotated[
        int | None, typer.Option(help="Budget of tokens of the whole run.", rich_help_panel=_RUN)
    ] = None,
    run_max_cost: Annotated[
        float | None, typer.Option(help="Budget of money of the whole run.", rich_help_panel=_RUN)
    ] = None,
    run_max_seconds: Annotated[
        float | None, typer.Option(help="Budget of time of the whole run.", rich_help_panel=_RUN)
    ] = None,
    accept_changes: Annotated[
        bool,
        typer.Option(
            help="Go on though prompts, models or settings changed.", rich_help_panel=_RUN
        ),
    ] = False,
    executor: Annotated[
        Where,
        typer.Option(
            help="Do the problems in this process, or in several on a Ray cluster, which share "
            "the run's folder.",
            rich_help_panel=_RUN,
        ),
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(
            help="The cluster; default: this machine's, or one made for the run.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes on the cluster, which have equal shares of concurrency and rate "
            "limits; default: one for each node.",
            rich_help_panel=_RUN,
        ),
    ] = None,
    as_json: Json = False,
    preset: Preset = None,
    candidates: Candidates = None,
    verifications: Verifications = None,
    iterations: Iterations = None,
    epsilon: Epsilon = None,
    seed: Seed = None,
    max_calls: MaxCalls = None,
    max_total_tokens: MaxTotalTokens = None,
    max_cost: MaxCost = None,
    max_seconds: MaxSeconds = None,
    assignments: Assignments = None,
    base_url: BaseUrl = None,
    model: ModelName = None,
    local_model: LocalModel = None,
    config: Config = None,
) -> None:
    """Run many problems with many methods; killed at any moment, it goes on with --resume.

    Exit status: 0 all done, 1 some failed, 2 it can't go on, 3 its budget ended it.
    """
    changes = changes_of(
        assignments,
        candidates=candidates,
        verifications=verifications,
        iterations=iterations,
        epsilon=epsilon,
        seed=seed,
        max_calls=max_calls,
        max_total_tokens=max_total_tokens,
        max_cost=max_cost,
        max_seconds=max_seconds,
        base_url=base_url,
        model=model,
        local_model=local_model,
    )
    limits = {
        "max_calls": run_max_calls,
        "max_total_tokens": run_max_tokens,
        "max_cost": run_max_cost,
        "max_seconds": run_max_seconds,
    }
    keys = {"split": split, "problem_id": id_key, "question": question_key, "answer": answer_key}
    beginning = {
        "--out": out,
        "--shard": shard,
        "--preset": preset,
        "--from": path,
        "--split": split,
        "--id-key": id_key,
        "--question-key": question_key,
        "--answer-key": answer_key,
    }
    _refuse_both(benchmark, resume, beginning)
    wanted = _wanted(methods, limit, ids, changes, limits)
    on = _executor(executor, {"--ray-address": ray_address, "--workers": workers})
    from tmas_graph.cli import run_session

    if resume is not None:
        run_session.resume(
            resume, wanted, config, accept_changes=accept_changes, as_json=as_json, executor=on
        )
        return
    folder = out or Path("runs") / f"{Path(benchmark or '').stem}-{datetime.now():%Y%m%d-%H%M%S}"
    problems = run_session.Problems(benchmark or "", path, keys, shard or "1/1")
    shown = run_session.Shown(as_json)
    run_session.start(folder, problems, wanted, config, preset, shown, on)


def _refuse_both(benchmark: str | None, resume: Path | None, others: dict[str, Any]) -> None:
    if benchmark is None and resume is None:
        raise typer.BadParameter("give a data set, or --resume with the folder of a run")
    if benchmark is not None and resume is not None:
        raise typer.BadParameter("give a data set or --resume, not both")
    if resume is not None and (used := [n for n, value in others.items() if value is not None]):
        raise typer.BadParameter(f"{used[0]} belongs to a run's beginning, not to --resume")


def _executor(where: Where, options: dict[str, Any]) -> "Executor":
    if where == "local":
        if used := [name for name, value in options.items() if value is not None]:
            raise typer.BadParameter(f"{used[0]} belongs to --executor ray")
        from tmas_graph.evaluation.runner import HERE

        return HERE
    from tmas_graph.evaluation.ray_executor import RayExecutor

    return RayExecutor(*options.values())


def _wanted(
    methods: list[str] | None,
    limit: int | None,
    ids: list[str] | None,
    changes: dict[str, Any],
    limits: dict[str, Any],
) -> "Wanted":
    from tmas_graph.cli.run_session import Wanted
    from tmas_graph.evaluation.entrants import labels_in
    from tmas_graph.evaluation.run_folder import RunLimits

    return Wanted(labels_in(methods or []), limit, ids or [], changes, RunLimits(**limits))
