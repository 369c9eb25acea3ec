"""The processes that train together; one alone needs nothing of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among all."""

    rank: int = 0
    size: int = 1
    device: torch.device | str = "cpu"
    """Where tensors must be to be sent."""

    @classmethod
    def current(cls, device: torch.device | str = "cpu") -> Self:
        """Give this process's place as torch.distributed has it, if it is up."""
        if not (dist.is_available() and dist.is_initialized()):
            return cls(device=device)
        return cls(dist.get_rank(), dist.get_world_size(), device)

    def summed(self, values: Tensor) -> Tensor:
        """Give the sum over all ranks, in the dtype and on the device of `values`."""
        if self.size == 1:
            return values
        sent = values.detach().to(self.device, copy=True)
        dist.all_reduce(sent)
        return sent.to(values.device)

    def most(self, value: int) -> int:
        """Give the largest of all ranks' values."""
        if self.size == 1:
            return value
        sent = torch.tensor(value, device=self.device)
        dist.all_reduce(sent, dist.ReduceOp.MAX)
        return int(sent.item())

    def union(self, names: Iterable[str]) -> list[str]:
        """Give the names that any rank has, in order."""
        gathered: list[list[str]] = [[] for _ in range(self.size)]
        dist.all_gather_object(gathered, sorted(names))
        return sorted({name for some in gathered for name in some})

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Add up the gradients of all ranks, in place, where each rank has all the weights."""
        if self.size == 1:
            return
        for parameter in parameters:
            if parameter.requires_grad:
                # A rank without rows has no gradient, yet must take part.
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                dist.all_reduce(parameter.grad)

    def share(self, lengths: Sequence[int]) -> list[int]:
        """Give the places of the rows that are this rank's, if all ranks know all rows.

        The longest row goes to the rank with the fewest tokens so far, and so on.
        """
        loads, mine = [0] * self.size, list[int]()
        for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
            rank = loads.index(min(loads))
            loads[rank] += lengths[place]
            if rank == self.rank:
                mine.append(place)
        return sorted(mine)
