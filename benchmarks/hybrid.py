"""The hybrid reward and correctness alone, on a toy task: who uses the bank, who finds new ways?

    python -m benchmarks.hybrid [--seeds 3] [--steps 160] [--set NAME=VALUE] [--plot FILE]
        [--keep FOLDER]

Each seed has a policy, a file of prompts and the draws of its own, which both presets share: the
policy learns the task from verified completions (mode "sft"), then goes through the trainer of
`tmas train run` once with each preset, and nothing else changed. The server is in the same process.
No problem is met in two steps, so that all figures are of problems that the policy hasn't seen;
they are over the last quarter of the steps. By how the task is made (hybrid_task.py), correctness
alone favours neither the bank nor strategies that aren't listed.

Shown are means over seeds, with the least and the greatest; differences are by seed.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from math import isnan
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import torch
from rich.console import Console
from rich.table import Table

from benchmarks import hybrid_plot, hybrid_task, results
from benchmarks.policy_server import PolicyServer
from tmas_graph.grpo.dumping import file_of
from tmas_graph.grpo.exporting import FINAL
from tmas_graph.grpo.run import Surroundings, train
from tmas_graph.grpo.settings import Preset, RunSettings
from tmas_graph.grpo.settings_file import load

CONFIG = Path(__file__).with_suffix(".toml")
PRESETS: tuple[Preset, ...] = get_args(Preset)
LESSONS, LESSON, TEACHING_RATE = 150, 96, 2e-3
"""Steps of supervised fine-tuning, completions in each, and their learning rate."""
PARTS = 16
"""Stretches of a run that have a point each in the plot."""
Record = Mapping[str, Any]
"""A line of the trainer's samples."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A share of some completions."""

    of: Callable[[Record], bool]
    """Is it one of them?"""
    hit: Callable[[Record], bool]

    def value(self, records: Sequence[Record]) -> float:
        """Give the share; NaN where there are none."""
        hits = [self.hit(one) for one in records if self.of(one)]
        return sum(hits) / len(hits) if hits else float("nan")


def _question(record: Record) -> str:
    return str(record["prompt"][-1]["content"])


def _in(mode: str) -> Callable[[Record], bool]:
    return lambda record: record["mode"] == mode


def _right(record: Record) -> bool:
    return bool(record["correct"])


MEASURES: Mapping[str, Measure] = {
    "right, by the rule alone": Measure(
        _in("normal"), lambda one: hybrid_task.follows_rule(_question(one), one["completion"])
    ),
    "right, with a bank": Measure(_in("experience"), _right),
    "right, under guidelines": Measure(_in("guideline"), _right),
    "answers as the bank says": Measure(
        _in("experience"), lambda one: hybrid_task.follows_bank(_question(one), one["completion"])
    ),
    "novel, of right ones": Measure(
        lambda one: one["mode"] == "guideline" and _right(one),
        lambda one: one["novelty"] == "novel",
    ),
}
Run = dict[str, list[float]]
"""By measure: a value for each stretch of the run, then the one that counts."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What all runs have in common."""

    folder: Path
    """Each run leaves what it writes there, under its name."""
    steps: int
    changes: tuple[str, ...] = ()
    """To the settings, as after `tmas train run --set`."""


def taught(plan: Plan, seed: int) -> Path:
    """Make the policy that both presets of a seed begin with; give its folder."""
    torch.set_num_threads(1)  # two of them run side by side, and tensors are tiny
    own = plan.folder / f"taught-{seed}"
    (own / "model").mkdir(parents=True)
    hybrid_task.model(seed).save_pretrained(own / "model")
    hybrid_task.tokenizer().save_pretrained(own / "model")
    hybrid_task.teach(own / "train.jsonl", LESSONS * LESSON, seed)
    ours = {"mode": "sft", "steps": LESSONS, "sampling.groups": LESSON, "seed": seed}
    ours |= {"optimizer.learning_rate": TEACHING_RATE, "out": own / "run"}
    ours |= {"model.model": own / "model", "data.train": own / "train.jsonl"}
    train(load(CONFIG, [f"{name}={value}" for name, value in ours.items()]))
    return own / "run" / FINAL


def trained(plan: Plan, preset: Preset, seed: int, policy: Path) -> Run:
    """Train `policy` once, and measure."""
    torch.set_num_threads(1)
    own = plan.folder / f"{preset}-{seed}"
    own.mkdir(parents=True)
    settings = settings_of(plan, preset, seed, policy)
    hybrid_task.write(settings.data.train, settings.sampling.groups * plan.steps, seed)
    server = PolicyServer(hybrid_task.model(seed), hybrid_task.SYMBOLS, hybrid_task.LENGTH)
    train(settings, Surroundings(hybrid_task.TOOLS, server.opened))
    return _measured(settings.out, plan.steps)


def settings_of(plan: Plan, preset: Preset, seed: int, policy: Path) -> RunSettings:
    """Give the settings of a run that begins with `policy`."""
    own = plan.folder / f"{preset}-{seed}"
    ours = {"preset": preset, "seed": seed, "steps": plan.steps, "out": own / "run"}
    ours |= {"model.model": policy, "data.train": own / "train.parquet"}
    return load(CONFIG, [*(f"{name}={value}" for name, value in ours.items()), *plan.changes])


def _measured(run: Path, steps: int) -> Run:
    ends = [steps * at // PARTS for at in range(PARTS + 1)]
    parts = [list(_records(run, first, last)) for first, last in pairwise(ends)]
    last = [record for part in parts[-PARTS // 4 :] for record in part]
    return {
        name: [measure.value(part) for part in (*parts, last)] for name, measure in MEASURES.items()
    }


def _records(run: Path, after: int, last: int) -> Iterator[Record]:
    for step in range(after + 1, last + 1):
        yield from map(json.loads, file_of(run, step).read_text(encoding="utf-8").splitlines())


def all_trained(plan: Plan, seeds: int) -> dict[Preset, list[Run]]:
    """Train all, two at a time, both presets of a seed side by side."""
    jobs = list(product(range(seeds), PRESETS))
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        policies = list(pool.map(partial(taught, plan), range(seeds)))
        runs = pool.map(
            partial(trained, plan),
            [preset for _, preset in jobs],
            [seed for seed, _ in jobs],
            [policies[seed] for seed, _ in jobs],
        )
        found = list(zip(jobs, runs, strict=True))
    return {preset: [run for (_, own), run in found if own == preset] for preset in PRESETS}


def table(found: Mapping[Preset, Sequence[Run]]) -> Table:
    """What is shown, in percent."""
    shown = Table("share of completions, %", *found, "difference")
    for name in MEASURES:
        values = {preset: [run[name][-1] for run in runs] for preset, runs in found.items()}
        pairs = zip(*(values[preset] for preset in PRESETS), strict=True)
        gaps = [hybrid - vanilla for hybrid, vanilla in pairs]
        shown.add_row(name, *map(_spread, values.values()), _spread(gaps, "+"))
    return shown


def _spread(values: Sequence[float], sign: str = "") -> str:
    least, mean, most = (100 * value for value in (min(values), fmean(values), max(values)))
    return f"{mean:{sign}.1f} ({least:{sign}.1f} to {most:{sign}.1f})"


def _figures(found: Mapping[Preset, Sequence[Run]]) -> Any:
    """The same with null for NaN, which JSON doesn't know."""
    return {
        preset: [
            {name: [None if isnan(one) else one for one in run[name]] for name in run}
            for run in runs
        ]
        for preset, runs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Train all, print the table, draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the course of the runs")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the runs there")
    parser.add_argument(
        "--set",
        dest="changes",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of all runs, e.g. advantages.equal_weight=0.5",
    )
    results.add_json(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(given.keep or Path(folder), given.steps, tuple(given.changes))
        found = all_trained(plan, given.seeds)
    Console().print(table(found))
    if given.plot:
        hybrid_plot.draw(found, given.steps, given.plot)
    results.written(given.json, "hybrid", given, _figures(found))


if __name__ == "__main__":
    main()
