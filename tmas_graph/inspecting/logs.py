"""A run's rows as logs of inspect's, one for each method, which `inspect view` opens.

A sample is a problem; its transcript has a span for each iteration. Figures are those of `tmas
compare`: a problem that ended early keeps its last standing, one that failed counts as wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log,
)

from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.graded_only import graded
from tmas_graph.evaluation.metrics import Figure
from tmas_graph.evaluation.tracks import Standing, Track
from tmas_graph.evaluation.uniting import MethodRun
from tmas_graph.inspecting.exported_samples import Solved, by_role
from tmas_graph.inspecting.usages import theirs
from tmas_graph.state import digest
from tmas_graph.usage import summed


@dataclass(frozen=True)
class Export:
    """A method of a run, to be made a log of."""

    run: MethodRun
    folder: str
    """The run's, for its ids and for readers."""
    began: datetime
    """When it was started."""
    problems: Dataset | None = None
    """None where its data set isn't at hand: samples then show ids in place of texts."""

    def write(self, file: Path) -> None:
        """Write the log into `file`, which ends in .eval.

        Raises:
            OSError: it can't be written.
        """
        write_eval_log(self.log(), file, format="eval")

    def log(self) -> EvalLog:
        """Make the log."""
        track = Track(self.run)
        standings = [track.at(t) for t in track.iterations]
        rows = [row for many in self.run.rows.values() for row in many]
        when = self.began.isoformat(timespec="seconds")
        asked = self.run.setup.problems or tuple(self.run.rows)
        ended = sum(_has_ended(self.run, problem) for problem in asked)
        return EvalLog(
            status="success" if ended == len(asked) else "cancelled",
            eval=self._spec(asked, when),
            plan=EvalPlan(steps=[EvalPlanStep(solver=self._solver, params={**self.run.settings})]),
            results=EvalResults(
                total_samples=len(asked),
                completed_samples=len(self.run.rows) - standings[-1].failed,
                scores=_scores(self.run),
                metadata={"notes": track.notes()},
            ),
            stats=EvalStats(
                started_at=when,
                completed_at=when,
                model_usage={self.run.model: theirs(summed(row.spent for row in rows))},
                role_usage=by_role(rows),
            ),
            samples=[self._sample(problem, standings) for problem in self.run.rows],
        )

    @property
    def _solver(self) -> str:
        return f"tmas_graph/{self.run.name}"

    def _spec(self, asked: Sequence[str], when: str) -> EvalSpec:
        setup, name = self.run.setup, self.run.name
        return EvalSpec(
            eval_id=digest(self.folder, name, when)[:22],
            run_id=digest(self.folder, when)[:22],
            task_id=digest(setup.benchmark, setup.version)[:22],
            created=when,
            task=f"tmas_graph/{setup.benchmark or 'problems'}",
            task_version=setup.version or 0,
            solver=self._solver,
            solver_args={**self.run.settings},
            dataset=EvalDataset(
                name=setup.benchmark or None, samples=len(asked), sample_ids=list(asked)
            ),
            model=self.run.model,
            config=EvalConfig(epochs=1),
            packages={"tmas-graph": version("tmas-graph")},
            metadata={
                "run": self.folder,
                "models": {**setup.models.get(name, {})},
                "prompts": {**setup.prompts.get(name, {})},
            },
        )

    def _sample(self, problem: str, standings: Sequence[Standing]) -> EvalSample:
        questions, golds = dict[str, str](), dict[str, str]()
        if self.problems is not None:
            questions = {known.id: known.question for known in self.problems.problems}
            golds = dict(self.problems.golds)
        return Solved(
            problem=problem,
            question=questions.get(problem, problem),
            gold=golds.get(problem, ""),
            rows=self.run.rows[problem],
            points=[standing.points[problem] for standing in standings],
            model=self.run.model,
            began=self.began,
        ).sample()


def _has_ended(run: MethodRun, problem: str) -> bool:
    last = run.rows.get(problem, ())[-1:]
    return any(row.stop is not None or row.outcome == "failed" for row in last)


def _scores(run: MethodRun) -> list[EvalScore]:
    """Figures over the problems whose right answer is known."""
    scored = graded(run)
    if not scored.rows:
        return []
    track = Track(scored)
    standings = [track.at(t) for t in track.iterations]
    last = standings[-1]
    verdict = EvalScore(
        name="grader",
        scorer="grader",
        metrics=_metrics("accuracy", last.selected),
        scored_samples=last.selected.problems,
        unscored_samples=len(run.rows) - len(scored.rows),
        metadata={"unsure": last.selected.counts.unsure, "error": last.selected.counts.error},
    )
    by_iteration = [
        EvalScore(name=str(standing.iteration), scorer=name, metrics=_metrics("mean", figure))
        for name, figures in (
            ("pass@1", [(s, s.pass_at_1) for s in standings]),
            ("selected", [(s, s.selected) for s in standings]),
        )
        for standing, figure in figures
    ]
    return [verdict, *by_iteration]


def _metrics(name: str, figure: Figure) -> dict[str, EvalMetric]:
    error = figure.standard_error
    found = {name: figure.value, **({} if error is None else {"stderr": error})}
    return {key: EvalMetric(name=key, value=value) for key, value in found.items()}
