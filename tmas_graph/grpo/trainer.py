"""The loop: lesson → step → push → parity, with trials and checkpoints between steps.

Whatever ends it, the server is left able to answer (each push sees to that itself), and what was
learned is saved, except where the numbers themselves have gone wrong.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter

import torch

from tmas_graph.errors import CallError, PolicyMismatch
from tmas_graph.grpo import checkpoint, dumping
from tmas_graph.grpo.accumulating import Pass, with_old_logprobs
from tmas_graph.grpo.checkpoint import TrainState
from tmas_graph.grpo.lessons import Lesson, Lessons
from tmas_graph.grpo.metrics import Kind, Metrics
from tmas_graph.grpo.optimizing import learning_rate, set_learning_rate
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.publishing import Publisher, Trial
from tmas_graph.grpo.rank_talk import RankTalk
from tmas_graph.grpo.samples import Rate, TrainingRow
from tmas_graph.grpo.settings import RunSettings
from tmas_graph.grpo.step import StepReport, grpo_step, sft_step
from tmas_graph.grpo.stops import refuse_collapse
from tmas_graph.grpo.watching import Watch

CHECKPOINTS = "checkpoints"


@dataclass(slots=True)
class Learner:
    """What is trained, and how far it is."""

    settings: RunSettings
    policy: Policy
    optimizer: torch.optim.Optimizer
    talk: RankTalk
    metrics: Metrics
    watch: Watch
    state: TrainState
    saved: int = -1
    """The step that the last checkpoint is of."""

    def learn(self, lesson: Lesson) -> None:
        """Make a step, then move on and write what happened.

        Raises:
            TrainingStopped: a number isn't finite; nothing has changed.
        """
        began, state = perf_counter(), self.state
        rate = learning_rate(state.step, self.settings.steps, self.settings.optimizer)
        set_learning_rate(self.optimizer, rate)
        report = self._stepped(lesson.rows)
        correct = lesson.metrics.get("correct")
        self.state = replace(
            state,
            step=state.step + 1,
            version=state.version + report.stepped,
            consumed=lesson.consumed,
            correct=(*state.correct, correct.value) if isinstance(correct, Rate) else (),
        )
        if self.talk.is_first and self.settings.log.samples and lesson.scored:
            dumping.dump(self.settings.out, self.state.step, lesson.scored)
        told = {"loss": report.loss, "grad_norm": report.grad_norm, "stepped": report.stepped}
        more = {"learning_rate": rate, "seconds/learn": perf_counter() - began}
        self.log("train", {**lesson.metrics, **report.metrics, **told, **more})

    def _stepped(self, rows: tuple[TrainingRow, ...]) -> StepReport:
        settings, ranks = self.settings.step_settings, self.talk.ranks
        mine = [rows[place] for place in ranks.share([row.sample.length for row in rows])]
        if self.settings.updates > 1:
            way = Pass(settings.tokens_per_batch, settings.temperature)
            mine = list(with_old_logprobs(self.policy, mine, way))
        step = grpo_step if self.settings.mode == "grpo" else sft_step
        for _ in range(self.settings.updates):
            report = step(self.policy, self.optimizer, mine, settings, ranks)
        return report

    def log(self, kind: Kind, values: Mapping[str, Rate | float]) -> None:
        """Write and show numbers of the step that is done."""
        if self.talk.is_first:
            self.watch.record(self.metrics.log(self.state.step, kind, values))

    def save(self) -> None:
        """Write a checkpoint, unless there is one of this step."""
        if self.saved == self.state.step:
            return
        saved = checkpoint.gather(self.policy, self.optimizer, self.state)
        if self.talk.is_first:
            folder = self.settings.out / CHECKPOINTS
            checkpoint.write(folder, saved, self.settings.checkpoints.keep)
        self.saved = self.state.step


@dataclass(frozen=True, slots=True)
class Trainer:
    """One sitting of a run."""

    learner: Learner
    lessons: Lessons
    publisher: Publisher | None = None
    """None under mode sft, which asks no server."""
    trial: Trial | None = None

    async def run(self) -> TrainState:
        """Do all steps that are left; push before the first one.

        Raises:
            TrainingStopped: a number isn't finite, or the reward has collapsed.
            PolicyMismatch: the server draws from other weights; a checkpoint is saved.
            CallError: the server is down or refuses; a checkpoint is saved.
        """
        try:
            await self._publish()
            while True:
                await self._between_steps()
                if self.learner.state.step >= self.learner.settings.steps:
                    return self.learner.state
                await self._step()
                await self._publish()
        except (asyncio.CancelledError, CallError, PolicyMismatch):
            await self._save_what_is_learned()
            raise

    async def _step(self) -> None:
        learner, state = self.learner, self.learner.state
        lesson = await learner.talk.from_first(
            lambda: self.lessons.next(state.consumed, state.version)
        )
        await learner.talk.thread.run(lambda: learner.learn(lesson))
        refuse_collapse(learner.state.correct, learner.settings.stops)

    async def _publish(self) -> None:
        if self.publisher is not None:
            await self.publisher.publish(self.learner.state.version)

    async def _between_steps(self) -> None:
        """Try the policy where that is due, and save it."""
        learner = self.learner
        step, last = learner.state.step, learner.state.step >= learner.settings.steps
        if self.trial is not None and learner.talk.is_first and learner.state.evaluated != step:
            await self.trial.at(step, last)
        learner.state.evaluated = step
        if step and (last or step % learner.settings.checkpoints.every == 0):
            await learner.talk.thread.run(learner.save)

    async def _save_what_is_learned(self) -> None:
        learner = self.learner
        step = learner.state.step
        # The other ranks may be gone, and shards can't be gathered without them.
        if step and not (learner.policy.is_sharded and learner.talk.ranks.size > 1):
            await learner.talk.thread.run(learner.save)
        if learner.talk.is_first:
            saved = f"step {learner.saved} is saved" if learner.saved > 0 else "nothing is saved"
            learner.watch.note(
                f"Stopped after step {step}; {saved} in {learner.settings.out}. Go on with "
                "--resume and the same settings."
            )
