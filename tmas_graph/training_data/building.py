"""Builds training data of recorded runs: reads, makes prompts again, chooses, reports."""

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tmas_graph.agents.fitting import prompt
from tmas_graph.configuration import with_keys
from tmas_graph.errors import StorageError
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.run_folder import thread_name
from tmas_graph.evaluation.run_rows import Row
from tmas_graph.methods import find
from tmas_graph.prompts import Prompts
from tmas_graph.settings import Settings
from tmas_graph.state import Problem
from tmas_graph.threads import ThreadStore, look_into
from tmas_graph.training_data import parquet
from tmas_graph.training_data.choosing import Choice, chosen, fault_of, parted
from tmas_graph.training_data.made_again import Again, Thread
from tmas_graph.training_data.pass_rates import Counted, PassRate, counted
from tmas_graph.training_data.recorded import Recorded, read_all
from tmas_graph.training_data.references import Reference, references
from tmas_graph.training_data.reporting import Report, histogram, lengths, part_of
from tmas_graph.training_data.samples import Chat, Origin, Sample, items_of, strategies_of

LOST = "the thread isn't in the run's database"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be built."""

    choice: Choice = field(default=Choice())
    rollouts: bool = True
    """Whether experience prompts keep the earlier attempts that were shown beside the bank."""
    model: str | None = None
    """Whose rollouts p0 is counted over; None: everybody's."""


@dataclass(frozen=True, slots=True)
class Built:
    """What was built."""

    records: Mapping[str, Sequence[Mapping[str, Any]]]
    """The rows of the parts `train` and `held_out`, for `parquet.write`."""
    report: Report


async def build(
    folders: Sequence[Path],
    wanted: Wanted,
    keys: Settings,
    *,
    tell: Callable[[str], None] = lambda folder: None,
) -> Built:
    """Build training data of the runs in `folders`.

    Args:
        folders: of runs.
        wanted: what is to be built.
        keys: the settings in force here, of which the keys alone are taken.
        tell: called with each run's folder before its prompts are made.

    Raises:
        SettingsError: what is wanted makes no sense.
        StorageError, ThreadChanged: a run can't be read, or isn't what it was.
        ProblemError, MissingExtra: a run's data set can't be found.
        PromptError: a template is missing or faulty.
        CallError: a run's embedder can't be used.
    """
    wanted.choice.check()
    runs = read_all(folders)
    found = counted(runs, wanted.model)
    known = await references(runs)
    faults = {q: fault_of(ref, found.rates.get(q), wanted.choice) for q, ref in known.items()}
    making = _Making(wanted, keys, faults)
    samples = []
    for run in runs:
        tell(str(run.folder))
        samples += [sample async for sample in making.samples(run)]
    kept = chosen(samples, wanted.choice, making.left_out)
    parts = parted(kept, wanted.choice.held_out)
    records = {name: _records(name, part, known, found.rates) for name, part in parts.items()}
    return Built(records, _report(runs, found, making, parts))


@dataclass(slots=True)
class _Making:
    """Makes the samples of runs, and counts those that can't be made."""

    wanted: Wanted
    keys: Settings
    faults: Mapping[str, str]
    """By question, why a problem isn't trained on; empty if it is."""
    left_out: Counter[str] = field(default_factory=Counter)
    renewed: int = 0

    async def samples(self, run: Recorded) -> AsyncIterator[Sample]:
        """The samples of `run`, of the problems that are trained on."""
        async with look_into(run.folder) as store:
            try:
                for entrant, problem, rows in run.jobs():
                    if self.faults[problem.question]:
                        continue
                    yield _normal(run, entrant, problem)
                    if find(entrant.label).is_tmas:
                        name = thread_name(entrant.label, problem.id)
                        async for sample in self._with_banks(run, entrant, store, name, rows):
                            yield sample
            except sqlite3.Error as error:
                raise StorageError(
                    f"{run.folder}: its database can't be read ({error}). "
                    "Bring it back from a copy."
                ) from error

    async def _with_banks(
        self, run: Recorded, entrant: Entrant, store: ThreadStore, name: str, rows: Sequence[Row]
    ) -> AsyncIterator[Sample]:
        if name not in await store.statuses():
            self.left_out[LOST] += 1
            return
        record = await store.get(name)
        thread = Thread(store, record, with_keys(record.settings, self.keys))
        plain = _normal(run, entrant, record.problem)
        async for again in thread.prompts(rows, rollouts=self.wanted.rollouts):
            yield _with_bank(plain, again, name)
        self.left_out += thread.left_out
        self.renewed += thread.renewed


def _normal(run: Recorded, entrant: Entrant, problem: Problem) -> Sample:
    """The sample of the problem alone, in the template that the method would use."""
    asked = prompt(Prompts.of(entrant.settings), "solution_initial", problem)
    messages: Chat = tuple(asked.messages)
    origin = Origin(run.folder.resolve().name, entrant.label, run.model(entrant))
    return Sample("normal", messages, problem, messages, origin)


def _with_bank(plain: Sample, again: Again, thread: str) -> Sample:
    shown, origin = again.shown, plain.origin
    return Sample(
        again.source,
        again.messages,
        plain.problem,
        plain.prompt,
        Origin(origin.run, origin.method, origin.model, thread, again.iteration),
        items_of(shown.experience, shown.borrowed),
        strategies_of(shown.strategies),
        len(shown.rollouts),
    )


def _records(
    split: str,
    samples: Sequence[Sample],
    known: Mapping[str, Reference],
    rates: Mapping[str, PassRate],
) -> list[dict[str, Any]]:
    return [
        parquet.record(
            sample,
            known[sample.problem.question].answer,
            rates[sample.problem.question],
            index=index,
            split=split,
        )
        for index, sample in enumerate(samples)
    ]


def _report(
    runs: Sequence[Recorded],
    found: Counted,
    making: _Making,
    parts: Mapping[str, Sequence[Sample]],
) -> Report:
    faults = Counter(fault for fault in making.faults.values() if fault)
    least = making.wanted.choice.min_rollouts
    enough = [
        found.rates[question]
        for question in making.faults
        if question in found.rates and found.rates[question].rollouts >= least
    ]
    return Report(
        runs=tuple(str(run.folder) for run in runs),
        parts={name: part_of(part) for name, part in parts.items()},
        p0=histogram(enough),
        tokens=lengths(sample for part in parts.values() for sample in part),
        problems_left_out=dict(faults.most_common()),
        rows_left_out={why: count for why, count in making.left_out.most_common() if count},
        rollouts=found.by_method,
        models=found.by_model,
        rollouts_left_out=found.left_out,
        notes=tuple(_notes(runs, found, making, parts)),
        held_out=tuple(sorted({sample.problem.id for sample in parts["held_out"]})),
    )


def _notes(
    runs: Sequence[Recorded],
    found: Counted,
    making: _Making,
    parts: Mapping[str, Sequence[Sample]],
) -> Iterator[str]:
    """What a reader of the files should know."""
    yield from (note for run in runs for note in run.notes)
    if len(found.by_model) > 1:
        names = ", ".join(sorted(found.by_model))
        yield f"p0 is counted over several models ({names}); --model counts one alone"
    if making.renewed:
        yield f"the templates of {making.renewed} prompts have changed since they were sent"
    held = {sample.problem.id for sample in parts["held_out"]}
    lent = sum(any(item.problem in held for item in s.experience) for s in parts["train"])
    if lent:
        yield f"{lent} prompts of train show techniques or pitfalls of held-out problems"
    for name, part in parts.items():
        if not part:
            yield f"{name} has no row"
