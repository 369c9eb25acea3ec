"""`tmas estimate`: what a run will take, before it is started."""

import json
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tmas_graph.cli.options import (
    Assignments,
    BaseUrl,
    Candidates,
    Config,
    Iterations,
    Json,
    LocalModel,
    Methods,
    ModelName,
    Preset,
    Verifications,
    changes_of,
)
from tmas_graph.cli.run import AnswerKey, IdKey, QuestionKey, Split

if TYPE_CHECKING:
    from tmas_graph.evaluation.estimating import Amount, Estimate, Total


def estimate(
    benchmark: Annotated[
        str | None, typer.Argument(help="A data set's name, a JSONL file, or a Hugging Face id.")
    ] = None,
    methods: Methods = None,
    measured: Annotated[
        int | None,
        typer.Option("--problems", min=1, help="So many are solved to measure them; default: 3."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Problems that the run will have; default: all.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Keep what was measured as a run, from which tmas run goes on."),
    ] = None,
    of: Annotated[
        Path | None,
        typer.Option("--of", metavar="RUN", help="Estimate from this run, without any call."),
    ] = None,
    path: Annotated[
        str | None, typer.Option("--from", help="Where your copy of a named data set is.")
    ] = None,
    split: Split = None,
    id_key: IdKey = None,
    question_key: QuestionKey = None,
    answer_key: AnswerKey = None,
    as_json: Json = False,
    preset: Preset = None,
    candidates: Candidates = None,
    verifications: Verifications = None,
    iterations: Iterations = None,
    assignments: Assignments = None,
    base_url: BaseUrl = None,
    model: ModelName = None,
    local_model: LocalModel = None,
    config: Config = None,
) -> None:
    """Say what a run will take: calls, tokens, money and hours, from a few problems."""
    if benchmark is None and of is None:
        raise typer.BadParameter("give a data set, or --of with the folder of a run")
    if benchmark is not None and of is not None:
        raise typer.BadParameter("give a data set or --of, not both")
    keys = {"split": split, "problem_id": id_key, "question": question_key, "answer": answer_key}
    changes = changes_of(
        assignments,
        candidates=candidates,
        verifications=verifications,
        iterations=iterations,
        base_url=base_url,
        model=model,
        local_model=local_model,
    )
    if of is not None:
        others = (methods, measured, out, path, *keys.values(), changes or None, preset, config)
        if any(value is not None for value in others):
            raise typer.BadParameter(
                "with --of nothing is asked; only --limit and --json go with it"
            )
        _tell(of, _within(of, limit), as_json=as_json, kept=True)
        return
    from tmas_graph.cli import run_session
    from tmas_graph.evaluation.entrants import labels_in
    from tmas_graph.evaluation.planning import More

    problems = run_session.Problems(benchmark or "", path, keys, "1/1")
    sample = run_session.sampled(problems, limit, measured or 3)
    wanted = More(labels_in(methods or []), ids=sample.ids, changes=changes)
    with tempfile.TemporaryDirectory() if out is None else nullcontext(out) as folder:
        shown = run_session.Shown(as_json, quiet=True, kept=out is not None)
        run_session.start(Path(folder), problems, wanted, config, preset, shown)
        _tell(Path(folder), sample.all, as_json=as_json, kept=out is not None)


def _within(run: Path, limit: int | None) -> int | None:
    """`limit`, or as many problems as the data set of `run` has, if that can be found."""
    from tmas_graph.cli.plain import complain
    from tmas_graph.errors import TmasError
    from tmas_graph.evaluation.run_folder import read_plan

    source = read_plan(run).source
    if limit is None:
        return None
    try:
        size = len(source.load().problems)
    except TmasError:
        return limit
    if limit > size:
        complain(f"--limit: there are {size:,} problems in all, so it is of these", style="yellow")
    return min(limit, size)


def _tell(folder: Path, problems: int | None, *, as_json: bool, kept: bool) -> None:
    from tmas_graph.evaluation.estimating import estimates, pace_in, rows_in, total
    from tmas_graph.evaluation.run_folder import read_plan
    from tmas_graph.running import run_blocking

    plan = read_plan(folder)
    each = estimates(rows_in(folder), plan.entrants, problems or len(plan.problems))
    pace = run_blocking(lambda: pace_in(folder))
    whole = total(each, pace, plan.settings.concurrency)
    if as_json:
        said = {"methods": [asdict(one) for one in each], "total": asdict(whole)}
        print(json.dumps(said, indent=2))  # noqa: T201
    else:
        _print(each, whole, plan.settings.concurrency)
        if kept:
            _print_how_to_go_on(folder, plan.parts, each)


def _print_how_to_go_on(folder: Path, parts: Sequence[str], each: "list[Estimate]") -> None:
    from rich.console import Console

    from tmas_graph.cli.plain import line, words

    if parts:
        more = f"a merge doesn't go on: resume {', '.join(map(line, parts))}, and merge anew"
    elif all(one.measured >= one.problems for one in each):
        return
    else:
        more = f"go on from here: tmas run --resume {line(str(folder))} --limit {each[0].problems}"
    Console().print(words(more), soft_wrap=True)


def _print(each: "list[Estimate]", whole: "Total", concurrency: int) -> None:
    from rich.console import Console
    from rich.table import Table

    from tmas_graph.cli.plain import words
    from tmas_graph.cli.run_view import duration

    console, table = Console(), Table(box=None, padding=(0, 2, 0, 0))
    for head in ("method", "problems", "measured", "calls", "at most", "tokens", "cost"):
        table.add_column(head, justify="left" if head == "method" else "right", no_wrap=True)
    for one in each:
        table.add_row(
            words(one.method),
            f"{one.problems:,}",
            f"{one.measured:,}",
            _about(one.calls),
            f"{one.most_calls:,}",
            _about(one.tokens),
            _about(one.cost) if one.cost.value else "–",
        )
    table.add_row("all", "", "", _about(whole.calls), "", _about(whole.tokens), "")
    console.print(table)
    if whole.seconds is not None and whole.per_call is not None:
        told = (
            f"about {duration(whole.seconds)}, if {concurrency:,} calls are in flight all the time "
            f"and each takes {whole.per_call:.1f} s as those measured"
        )
        console.print(words(told), soft_wrap=True)
    console.print(
        "Assumed: the other problems are like those measured (± is 95 % of such a sum). A call is "
        "a request: where the server gives several replies in one, fewer than at most.",
        style="dim",
        soft_wrap=True,
    )


def _about(amount: "Amount") -> str:
    def shown(value: Any) -> str:
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"

    spread = "" if amount.spread is None else f" ± {shown(amount.spread)}"
    return shown(amount.value) + spread
