"""Batches of a token budget: several sequences in one row, or padded ones.

A packed row is one sequence after another; positions start at 0 in each, from which transformers
(Qwen3, Llama and kin, with sdpa, eager or flash attention) makes a block-diagonal causal mask,
provided that there is no cache and no mask is given. Flash attention does so for a single row
only. Models that don't do so are found out by `Policy.keeps_apart`, and get padded batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from tmas_graph.grpo.samples import Sample


@dataclass(frozen=True, slots=True)
class Batch:
    """B rows of T positions, which hold R samples with N completion tokens."""

    input_ids_BT: Tensor
    position_ids_BT: Tensor
    attention_mask_BT: Tensor | None
    """None: packed, or nothing is padded."""
    starts_R: Tensor
    """Place, in B · T, of each sample's first token."""
    source_N: Tensor
    """Place, in B · T, of the hidden state that predicts each completion token."""
    targets_N: Tensor
    row_N: Tensor
    """The sample of each completion token, from 0 to R − 1."""
    mask_N: Tensor
    sampler_logprobs_N: Tensor
    """NaN where the server's are not known."""

    def to(self, device: torch.device | str) -> "Batch":
        """Give the same on another device."""
        moved: dict[str, Any] = {
            name: value.to(device)
            for name in self.__slots__
            if isinstance(value := getattr(self, name), Tensor)
        }
        return replace(self, **moved)


def bins(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Put sequences into as few batches of `budget` tokens as first fit, longest first, finds.

    Gives the places of each batch's sequences, in order. One that is longer than the budget has a
    batch of its own.
    """
    filled, rooms = list[list[int]](), list[int]()
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        fits = (at for at, room in enumerate(rooms) if room >= lengths[place])
        at = next(fits, len(rooms))
        if at == len(rooms):
            filled.append([])
            rooms.append(budget)
        filled[at].append(place)
        rooms[at] -= lengths[place]
    return [sorted(places) for places in filled]


def padded_bins(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Put sequences into batches of at most `budget` positions, padding included."""
    filled, longest = list[list[int]](), 0
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if not filled or (len(filled[-1]) + 1) * longest > budget:
            filled.append([])
            longest = lengths[place]
        filled[-1].append(place)
    return [sorted(places) for places in filled]


def pack(samples: Sequence[Sample], width: int | None = None, pad_id: int = 0) -> Batch:
    """Put the samples one after another into rows of `width` positions, or into one row.

    Rows as wide as the longest sample are the cheapest where attention costs T² for a row of T,
    as it does wherever it isn't flash attention. What is left at the end of a row is filled with a
    sequence of its own, which nothing is read from.
    """
    lengths = [sample.length for sample in samples]
    width = sum(lengths) if width is None else max([width, *lengths])
    filled = bins(lengths, width)
    ids, positions = list[list[int]](), list[list[int]]()
    starts = [0] * len(samples)
    for row, places in enumerate(filled):
        ids.append([])
        positions.append([])
        for place in places:
            starts[place] = row * width + len(ids[row])
            ids[row] += _ids(samples[place])
            positions[row] += range(lengths[place])
        left = width - len(ids[row])
        ids[row] += [pad_id] * left
        positions[row] += range(left)
    return _batch(samples, torch.tensor(ids), torch.tensor(positions), None, starts)


def pad(samples: Sequence[Sample], pad_id: int = 0) -> Batch:
    """Give each sample a row, padded at the end."""
    width = max(sample.length for sample in samples)
    ids = [[*_ids(sample), *[pad_id] * (width - sample.length)] for sample in samples]
    lengths = torch.tensor([sample.length for sample in samples])
    positions_BT = torch.arange(width).expand(len(samples), width)
    attention_BT = positions_BT < lengths[:, None]
    starts = [width * row for row in range(len(samples))]
    return _batch(samples, torch.tensor(ids), positions_BT, attention_BT.long(), starts)


def _ids(sample: Sample) -> tuple[int, ...]:
    return sample.prompt_ids + sample.completion_ids


def _batch(
    samples: Sequence[Sample],
    input_ids_BT: Tensor,
    position_ids_BT: Tensor,
    attention_mask_BT: Tensor | None,
    starts: Sequence[int],
) -> Batch:
    source, mask, logprobs = list[int](), list[bool](), list[float]()
    for sample, start in zip(samples, starts, strict=True):
        first, count = start + len(sample.prompt_ids) - 1, len(sample.completion_ids)
        source += range(first, first + count)
        mask += sample.completion_mask or [True] * count
        logprobs += sample.sampler_logprobs or [float("nan")] * count
    lengths = torch.tensor([len(sample.completion_ids) for sample in samples])
    targets = [token for sample in samples for token in sample.completion_ids]
    return Batch(
        input_ids_BT,
        position_ids_BT,
        attention_mask_BT,
        torch.tensor(starts, dtype=torch.long),
        torch.tensor(source, dtype=torch.long),
        torch.tensor(targets, dtype=torch.long),
        torch.arange(len(samples)).repeat_interleave(lengths),
        torch.tensor(mask, dtype=torch.bool),
        torch.tensor(logprobs, dtype=torch.float64),
    )
