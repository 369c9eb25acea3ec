"""Accuracy by iteration and by token on the synthetic reasoner: TMAS, its ablations, its rivals.

    python -m benchmarks.scaling [--problems 56] [--seeds 1] [--whole] [--minutes M] [--to FOLDER]

Every method runs through the same engine as always, in memory and without a server, on problems
whose structure only the reasoner's skills know of. Without options: TMAS, its ablations, the most
telling rivals, the grid of ε and steps of noise in the checks. `--whole` is 200 problems, 3 seeds,
all rivals and all grids, and takes hours. `scaling.jsonl` in the folder has a line for each run,
written when it ends; the command goes on from there. Then it prints a table, for each promise of
the method whether it holds, and how rules of choosing an answer compare; and it draws plots.
"""

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from rich.console import Console

from benchmarks import curves, promises, scaling_plots, voting_rules
from benchmarks.arms import GRIDS, NOISES, Job, Size, compared, gridded, planned
from benchmarks.reasoner.runs import Made
from benchmarks.results import add_json, written
from benchmarks.scaling_runs import all_runs

PROBLEMS, WHOLE_PROBLEMS, WHOLE_SEEDS = 56, 200, 3
_WIDTH = 110


def by_name(runs: Mapping[Job, Made]) -> curves.Found:
    """Points of the runs by entrant and problem."""
    found: dict[str, dict[str, list[Sequence[curves.Point]]]] = {}
    for job, run in runs.items():
        mine = found.setdefault(job.entrant.name, {})
        mine.setdefault(f"p{job.problem}", []).append(run.points)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--problems", type=int, help=f"{PROBLEMS}; with --whole {WHOLE_PROBLEMS}")
    parser.add_argument("--seeds", type=int, help=f"1; with --whole {WHOLE_SEEDS}")
    parser.add_argument("--whole", action="store_true", help="all rivals and grids; takes hours")
    parser.add_argument("--candidates", type=int, default=Size().candidates, help="N")
    parser.add_argument("--verifications", type=int, default=Size().verifications, help="M")
    parser.add_argument("--iterations", type=int, default=Size().iterations, help="T")
    parser.add_argument("--only", default="", help="entrants whose names match this expression")
    parser.add_argument("--minutes", type=float, help="begin no run later; the next call goes on")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--to", type=Path, default=Path("scaling"), help="folder of the runs")
    parser.add_argument("--fresh", action="store_true", help="forget the runs that are there")
    parser.add_argument("--images", type=Path, help="folder of the plots; else that of the runs")
    add_json(parser)
    return parser.parse_args()


def _jobs(options: argparse.Namespace, size: Size) -> list[Job]:
    entrants = [*compared(size, whole=options.whole), *gridded(size, whole=options.whole)]
    entrants = [entrant for entrant in entrants if re.search(options.only, entrant.name)]
    problems = options.problems or (WHOLE_PROBLEMS if options.whole else PROBLEMS)
    seeds = options.seeds or (WHOLE_SEEDS if options.whole else 1)
    return list(planned(entrants, size, problems, seeds))


def main() -> None:
    """Run, print and draw."""
    options, began = _options(), perf_counter()
    options.to.mkdir(parents=True, exist_ok=True)
    file = options.to / "scaling.jsonl"
    if options.fresh:
        file.unlink(missing_ok=True)
    size = Size(options.candidates, options.verifications, options.iterations)
    jobs = _jobs(options, size)
    seconds = None if options.minutes is None else 60 * options.minutes
    runs = all_runs(jobs, options.processes, file, seconds=seconds)
    found, rules = by_name(runs), voting_rules.compared(runs)
    kept, console = promises.judged(found, NOISES), Console(width=_WIDTH)
    for table in (curves.table(found), promises.table(kept), voting_rules.table(rules)):
        console.print(table)
    figures = {
        "entrants": curves.figures(found),
        "promises": [asdict(one) for one in kept],
        "rules": [asdict(one) for one in rules],
    }
    written(options.json, "scaling", options, figures)
    rivals = [entrant.name for entrant in compared(size)]
    scaling_plots.draw_all(found, rivals, GRIDS, NOISES, size, options.images or options.to)
    print(f"{len(runs)} of {len(jobs)} runs are there, {perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
