"""What a token weighs in the loss: the denominators, computed once per optimiser step.

All modes are one thing, a weight per row that each of its tokens has, so that the loss is
Σ weight · token loss and can be summed over microbatches, rows and ranks in any way. With P groups,
R rows, and the length of a row its counted tokens:

| mode | weight of a token |
|---|---|
| group | 1 / (P · length of all rows of its group): the paper's, each prompt counts the same |
| batch | 1 / length of all rows (DAPO): each token counts the same |
| sequence | 1 / (R · length of its row) (GRPO as first published): each row counts the same |
| constant | 1 / (R · L) (Dr. GRPO): no length is favoured |

Counted is after masking: rows and groups without a counted token are in no denominator.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from tmas_graph.errors import SettingsError

Normaliser = Literal["group", "batch", "sequence", "constant"]
Summed = Callable[[Tensor], Tensor]
"""Sums a tensor over all ranks."""


def alone(values: Tensor) -> Tensor:
    """Give the sum over the ranks of a single process: the values themselves."""
    return values


def weights(
    counted: Sequence[int],
    groups: Sequence[int],
    normaliser: Normaliser = "group",
    *,
    constant: int = 0,
    summed: Summed = alone,
) -> Tensor:
    """Give weights_R of this rank's rows, float64, 0 for rows without a counted token.

    `counted` holds the rows' lengths, `groups` the place of each row's group
    among those of all ranks; a group may be spread over ranks. `constant` is L.

    Raises:
        SettingsError: `normaliser` is "constant" and L isn't given.
    """
    if normaliser == "constant" and constant < 1:
        raise SettingsError(
            f"normaliser: constant needs a length, and it is {constant}. Set it to the longest "
            "completion that is sampled."
        )
    tokens_R = torch.tensor(counted, dtype=torch.float64)
    group_R = torch.tensor(groups, dtype=torch.int64)
    here = torch.tensor([max(groups, default=-1) + 1], dtype=torch.float64)
    tokens_P, rows = _totals(tokens_R, group_R, here, summed)
    if normaliser == "group":
        weights_R = 1.0 / ((tokens_P > 0).sum() * tokens_P[group_R])
    elif normaliser == "batch":
        weights_R = torch.ones_like(tokens_R) / tokens_P.sum()
    elif normaliser == "sequence":
        weights_R = 1.0 / (rows * tokens_R)
    else:
        weights_R = torch.ones_like(tokens_R) / (rows * constant)
    return torch.where(tokens_R > 0, weights_R, 0.0)


def _totals(
    tokens_R: Tensor, group_R: Tensor, here: Tensor, summed: Summed
) -> tuple[Tensor, Tensor]:
    """Counted tokens of each group, and rows that have any, over all ranks."""
    # Ranks must agree on how many groups there are before they can add up vectors of that length;
    # the sum is more than enough.
    places = int(summed(here).item())
    tokens_P = torch.zeros(places, dtype=torch.float64).index_add(0, group_R, tokens_R)
    rows = (tokens_R > 0).sum().to(torch.float64).reshape(1)
    both = summed(torch.cat([tokens_P, rows]))
    return both[:-1], both[-1]
