"""Advantages of the rows of one group, and the statistics that show when rewards say nothing.

Two traps are handled here.

1. The experience bonus is the same for every correct row of a single-prompt group, so dividing by
   the group's standard deviation would cancel it: (r − mean) / std doesn't change when the gap
   between right and wrong grows. Hence `scale` is "none" by default, and a *paired* group (half
   of its rows sampled with the bank, half without) keeps the bonus under any scale, because only
   half of its rows can have it.
2. Bonuses and penalties vary even where all rows have one correctness, and would then be all that
   is learned from. Where none is right, that is a phantom: the group gives exactly nothing. Where
   all are, it is the reward's own word on equally right rows, and half of it counts; without it,
   the better a policy gets, the less it would hear of novelty.

Departures from the paper: 1. it divides by the standard deviation; here that is an option. 2. Rows
that are all right count half.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from tmas_graph.grpo.knobs import Knobs
from tmas_graph.grpo.rewards import Reward
from tmas_graph.grpo.samples import Rate

Scale = Literal["none", "sample_std", "population_std"]
COMPONENTS = ("correctness", "experience", "guideline", "overlong")


class AdvantageSettings(Knobs):
    """How rewards of a group become advantages."""

    scale: Scale = "none"
    """Divide by nothing, by the group's std over n−1 rows, or by the one over n rows."""
    equal_weight: float = Field(0.5, ge=0, le=1)
    """Weight of the shaping in groups whose rows are all right; 0 leaves these groups out."""


def centred(rewards_G: Tensor, scale: Scale = "none") -> Tensor:
    """Subtract the mean, then divide as `scale` says; [G] to [G].

    Rewards that are all the same give exactly 0, whatever rounding would make of them.
    """
    if rewards_G.numel() == 0 or bool((rewards_G == rewards_G[0]).all()):
        return torch.zeros_like(rewards_G)
    deviations_G = rewards_G - rewards_G.mean()
    if scale == "none":
        return deviations_G
    return deviations_G / rewards_G.std(correction=1 if scale == "sample_std" else 0)


def advantages(
    rewards: Sequence[Reward], settings: AdvantageSettings | None = None
) -> tuple[float, ...]:
    """Give one advantage for each reward of a group, all 0 where the group teaches nothing.

    The rows may be of one prompt, or of the two prompts of a paired group: either way they have
    one mean.
    """
    settings = settings or AdvantageSettings()
    right = {reward.correct for reward in rewards}
    if right == {True, False}:
        totals = torch.tensor([reward.total for reward in rewards], dtype=torch.float64)
        return tuple(centred(totals, settings.scale).tolist())
    if right == {True} and settings.equal_weight:
        shaping = torch.tensor([reward.shaping for reward in rewards], dtype=torch.float64)
        # No std here: however small the differences, it would blow them up to 1.
        return tuple((settings.equal_weight * centred(shaping)).tolist())
    return (0.0,) * len(rewards)


def statistics(groups: Sequence[Sequence[Reward]]) -> Mapping[str, Rate]:
    """Give mean, variance and share of constant groups for each component, to be logged.

    `reward/…/mean` and `reward/…/square` are over rows (std² = square − mean²), `…/zero_std` over
    groups. `groups/all_right`, `groups/all_wrong` say how many groups have one correctness.
    """
    rows = sum(map(len, groups))
    logged = dict[str, Rate]()
    for name in COMPONENTS:
        values = [[float(getattr(reward, name)) for reward in group] for group in groups]
        flat = [value for group in values for value in group]
        logged[f"reward/{name}/mean"] = Rate(sum(flat), rows)
        logged[f"reward/{name}/square"] = Rate(sum(value * value for value in flat), rows)
        constant = sum(len(set(group)) <= 1 for group in values)
        logged[f"reward/{name}/zero_std"] = Rate(constant, len(groups))
    for name, which in (("all_right", True), ("all_wrong", False)):
        count = sum(all(reward.correct is which for reward in group) for group in groups)
        logged[f"groups/{name}"] = Rate(count, len(groups))
    return logged


def spread(logged: Mapping[str, Rate], component: str) -> float:
    """Give the standard deviation of `component` over all rows that `logged` was made from."""
    mean = logged[f"reward/{component}/mean"].value
    square = logged[f"reward/{component}/square"].value
    return sqrt(max(square - mean * mean, 0.0))
