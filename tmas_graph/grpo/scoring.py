"""From drawn groups to rewards, advantages and the rows of a step."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

from tmas_graph.grpo.advantages import AdvantageSettings, advantages, statistics
from tmas_graph.grpo.drawing import Drawn
from tmas_graph.grpo.interfaces import Tools
from tmas_graph.grpo.novelty import Finding, How, NoveltySettings, novelty
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
from tmas_graph.grpo.together import all_of

_NOVELTIES = get_args(Novelty)
_WAYS = get_args(How)


@dataclass(frozen=True, slots=True)
class Scored:
    """A group with what each of its samples earned."""

    drawn: Drawn
    rewards: tuple[Reward, ...]
    advantages: tuple[float, ...]
    findings: tuple[Finding, ...]
    """What was found out about each sample's strategy."""
    p0: float | None
    """The pass rate without the bank that the experience bonus was counted with."""


@dataclass(frozen=True, slots=True)
class _Graded:
    """What is known of one completion alone."""

    completion: Completion
    right: bool
    finding: Finding = field(default_factory=Finding)


@dataclass(frozen=True, slots=True)
class Scoring:
    """All that rewards depend on besides the samples."""

    tools: Tools
    rewards: RewardSettings
    novelty: NoveltySettings
    advantages: AdvantageSettings

    async def groups(self, drawn: Sequence[Drawn]) -> tuple[Scored, ...]:
        """Score groups, in order.

        Raises:
            CallError: the judge can't be reached, or refuses.
        """
        graded = await all_of(
            self._graded(group, place) for group in drawn for place in range(len(group.samples))
        )
        one_by_one = iter(graded)
        return tuple(self._group(one, [next(one_by_one) for _ in one.samples]) for one in drawn)

    async def _graded(self, group: Drawn, place: int) -> _Graded:
        row, mode, tools = group.task.row, group.modes[place], self.tools
        completion = completion_of(group.samples[place], mode, row)
        right = await asyncio.to_thread(is_correct, completion, row.ground_truth, tools.grader)
        if not right or mode != "guideline":
            return _Graded(completion, right)
        listed = [
            f"{one.name}: {one.essence}" if one.essence else one.name for one in row.strategies
        ]
        found = await novelty(completion.text, listed, tools.similarity, tools.judge, self.novelty)
        return _Graded(completion, right, found)

    def _group(self, drawn: Drawn, graded: Sequence[_Graded]) -> Scored:
        own = paired_p0(drawn.modes, [one.right for one in graded])
        p0 = own if "experience" in drawn.modes and own is not None else drawn.task.row.p0
        rewards = tuple(
            reward(one.completion, one.right, self.rewards, p0=p0, novelty=one.finding.novelty)
            for one in graded
        )
        findings = tuple(one.finding for one in graded)
        return Scored(drawn, rewards, advantages(rewards, self.advantages), findings, p0)


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
    found = [
        one.findings[place]
        for one, place in flat
        if one.drawn.modes[place] == "guideline" and one.rewards[place].correct
    ]
    return {**logged, **_strategies(found)}


def _strategies(found: Sequence[Finding]) -> dict[str, Rate]:
    """Of right completions under guidelines: shares of each novelty, and of what the judge did."""
    said = [one.novelty for one in found]
    asked = [one.verdict for one in found if one.verdict is not None]
    rates = {f"novelty/{name}": Rate(said.count(name), len(said)) for name in _NOVELTIES if said}
    if asked:
        ways = [verdict.how for verdict in asked]
        rates["judge/doubtful"] = Rate(len(asked), len(said))
        rates["judge/unreadable"] = Rate(said.count("unreadable"), len(asked))
        rates |= {f"judge/{way}": Rate(ways.count(way), len(ways)) for way in _WAYS}
    return rates
