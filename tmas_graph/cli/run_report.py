"""How a run of many problems ended, for people and for programs."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from tmas_graph.cli.counting import counted
from tmas_graph.cli.plain import line, words
from tmas_graph.cli.run_view import duration, table_of
from tmas_graph.evaluation.run_standing import RunStanding


def summary(folder: Path, standing: RunStanding) -> dict[str, Any]:
    """How a run stands, as JSON can hold it."""
    methods = {
        label: {
            "problems": method.total,
            "done": method.done,
            "failed": method.failed,
            "graded": method.graded,
            "statuses": dict(method.statuses),
            "accuracy": method.accuracy,
            "standard_error": method.standard_error,
            "usage": asdict(method.purse.spent),
        }
        for label, method in standing.methods.items()
    }
    return {
        "run": str(folder),
        "methods": methods,
        "usage": asdict(standing.purse.spent),
        "seconds": round(standing.seconds, 3),
        "causes": dict(standing.causes),
        "stop": standing.purse.exhausted() if standing.halted else "",
    }


def report(console: Console, folder: Path | None, standing: RunStanding) -> None:
    """Print how a run ended and, where its `folder` stays, how to go on with it."""
    if not console.is_terminal:
        console.print(table_of(standing))
        for note in standing.notes:
            console.print(words(note, "yellow"), soft_wrap=True)
    left = standing.total - standing.done
    nothing = not left and not standing.ended
    said = [f"{standing.done:,} of {standing.total:,} done in {duration(standing.seconds)}"]
    if nothing:
        said = [f"nothing was left to do: all {standing.total:,} were done"]
    if standing.halted:
        said.append(f"{standing.purse.exhausted()}; go on with a larger budget")
    console.print(words(" · ".join(said)), soft_wrap=True)
    for cause, count in standing.causes.items():
        console.print(words(f"failed: {counted(count, 'time')}: {line(cause)}", "yellow"))
    if folder is None:
        return
    shown = line(str(folder))
    if left:
        console.print(words(f"the rest: tmas run --resume {shown}", "yellow"), soft_wrap=True)
    console.print(
        words(f"rows: {shown}/rows.jsonl · threads: tmas threads --home {shown}"), soft_wrap=True
    )
