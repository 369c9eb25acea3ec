"""A process of a training run: takes its share of the rows, makes a step in each of several ways.

python two_ranks.py RANK SIZE MEETING OUT
"""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from tiny_models import gradients, tiny_qwen, training_rows
from torch.distributed.fsdp import MixedPrecisionPolicy

from tmas_graph.grpo.accumulating import Pass, with_old_logprobs
from tmas_graph.grpo.loss import LossSettings
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.ranks import Ranks
from tmas_graph.grpo.step import StepSettings, grpo_step

Seen = tuple[float, float, dict[str, tuple[float, ...]], dict[str, torch.Tensor]]


def step(ranks: Ranks, *, sharded: bool, uneven: bool) -> Seen:
    """Loss, norm, metrics and gradients of one step."""
    policy = Policy(tiny_qwen().double())
    if sharded:
        policy.shard(MixedPrecisionPolicy())
    rows = training_rows(9, groups=3)
    mine = [rows[place] for place in ranks.share([row.sample.length for row in rows])]
    if uneven:
        mine = rows if ranks.rank == 0 else []
    # Ranks have different numbers of microbatches.
    settings = StepSettings(
        loss=LossSettings(mismatch="truncate"),
        tokens_per_batch=20 + 30 * ranks.rank,
        max_grad_norm=0.5,
    )
    way = Pass(settings.tokens_per_batch)
    # Where weights are sharded, this hangs unless all ranks make as many forwards.
    assert len(with_old_logprobs(policy, mine, way, ranks)) == len(mine)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    report = grpo_step(policy, optimizer, mine, settings, ranks)
    found = {
        name: gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
        for name, gradient in gradients(policy).items()
    }
    metrics = {name: tuple(rate) for name, rate in report.metrics.items()}
    return report.loss, report.grad_norm, metrics, found


def main(rank: int, size: int, meeting: str, out: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    ranks = Ranks.current()
    seen = {
        "plain": step(ranks, sharded=False, uneven=False),
        "uneven": step(ranks, sharded=False, uneven=True),
        "sharded": step(ranks, sharded=True, uneven=False),
        "sharded_uneven": step(ranks, sharded=True, uneven=True),
    }
    torch.save(seen, out / f"{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
