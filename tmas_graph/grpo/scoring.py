"""From drawn groups to rewards, advantages and the rows of a step."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tmas_graph.grpo.advantages import AdvantageSettings, advantages, statistics
from tmas_graph.grpo.drawing import Drawn
from tmas_graph.grpo.interfaces import Tools
from tmas_graph.grpo.novelty import NoveltySettings, novelty
from tmas_graph.grpo.rewards import (
    Completion,
    Mode,
    Novelty,
    Reward,
    RewardSettings,
    is_correct,
    paired_p0,
    reward,
)
from tmas_graph.grpo.rows import Row
from tmas_graph.grpo.samples import Rate, Sample, TrainingRow, rows_of

_AT_ONCE = 16
"""Completions that are judged side by side; a judge is mostly waited for."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A group with what each of its samples earned."""

    drawn: Drawn
    rewards: tuple[Reward, ...]
    advantages: tuple[float, ...]
    novelties: tuple[Novelty, ...]
    p0: float | None
    """The pass rate without the bank that the experience bonus was counted with."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """All that rewards depend on besides the samples."""

    tools: Tools
    rewards: RewardSettings
    novelty: NoveltySettings
    advantages: AdvantageSettings

    def groups(self, drawn: Sequence[Drawn]) -> tuple[Scored, ...]:
        """Score groups, in order."""
        with ThreadPoolExecutor(_AT_ONCE, "scoring") as pool:
            pairs = [(group, place) for group in drawn for place in range(len(group.samples))]
            judged = iter(list(pool.map(lambda pair: self._judged(*pair), pairs)))
        return tuple(self._group(one, [next(judged) for _ in one.samples]) for one in drawn)

    def _judged(self, group: Drawn, place: int) -> tuple[Completion, bool, Novelty]:
        """What is known of one completion alone."""
        row, mode = group.task.row, group.modes[place]
        completion = completion_of(group.samples[place], mode, row)
        right = is_correct(completion, row.ground_truth, self.tools.grader)
        if not right or mode != "guideline":
            return completion, right, "unknown"
        listed = [
            f"{one.name}: {one.essence}" if one.essence else one.name for one in row.strategies
        ]
        said = novelty(
            completion.text, listed, self.tools.similarity, self.tools.judge, self.novelty
        )
        return completion, right, said

    def _group(self, drawn: Drawn, judged: Sequence[tuple[Completion, bool, Novelty]]) -> Scored:
        own = paired_p0(drawn.modes, [right for _, right, _ in judged])
        p0 = own if "experience" in drawn.modes and own is not None else drawn.task.row.p0
        rewards = tuple(
            reward(completion, right, self.rewards, p0=p0, novelty=said)
            for completion, right, said in judged
        )
        return Scored(
            drawn,
            rewards,
            advantages(rewards, self.advantages),
            tuple(said for _, _, said in judged),
            p0,
        )


def completion_of(sample: Sample, mode: Mode, row: Row) -> Completion:
    """Give a sample as its reward sees it."""
    bank = {
        "experience": row.experience,
        "guideline": tuple(one.essence or one.name for one in row.strategies),
    }.get(mode, ())
    return Completion(mode, sample.text, len(sample.completion_ids), sample.truncated, bank)


def training_rows(scored: Sequence[Scored]) -> tuple[TrainingRow, ...]:
    """Give the rows of a step; groups that teach nothing are left out."""
    groups = [group.drawn.samples for group in scored]
    return rows_of(groups, [group.advantages for group in scored])


def told(scored: Sequence[Scored], version: int) -> Mapping[str, Rate]:
    """Give what is logged of the samples of a step, which the trainer's policy is `version` for."""
    rewards = [one.rewards for one in scored]
    flat = [(one, place) for one in scored for place in range(len(one.rewards))]
    samples = [one.drawn.samples[place] for one, place in flat]
    logged = dict(statistics(rewards))
    right = [one.rewards[place].correct for one, place in flat]
    logged["correct"] = Rate(sum(right), len(flat))
    for mode in ("normal", "experience", "guideline"):
        marks = [
            hit
            for hit, (one, place) in zip(right, flat, strict=True)
            if one.drawn.modes[place] == mode
        ]
        if marks:
            logged[f"correct/{mode}"] = Rate(sum(marks), len(marks))
    logged["reward"] = Rate(sum(r.total for group in rewards for r in group), len(flat))
    logged["length"] = Rate(sum(len(one.completion_ids) for one in samples), len(samples))
    logged["truncated"] = Rate(sum(one.truncated for one in samples), len(samples))
    logged["staleness"] = Rate(sum(version - one.version for one in samples), len(samples))
    said = [
        one.novelties[place]
        for one, place in flat
        if one.drawn.modes[place] == "guideline" and one.rewards[place].correct
    ]
    for name in ("novel", "listed", "unused", "unknown") if said else ():
        logged[f"novelty/{name}"] = Rate(said.count(name), len(said))
    return logged
