"""A process of a whole training run: python two_ranks_train.py RANK SIZE MEETING FOLDER STEPS."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from toy_run import TOOLS, policy_server, prepared

from tmas_graph.grpo.run import Surroundings, train

OPTIMIZER = {"learning_rate": 5e-3, "epsilon": 1e-2}
"""Adam makes steps of one size out of gradients that are mere rounding; a large ε doesn't."""


def main(rank: int, size: int, meeting: str, folder: Path, steps: int) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    settings = prepared(folder, steps=steps, optimizer=OPTIMIZER)
    resume = (folder / "run" / "checkpoints").exists()
    dist.barrier()
    train(settings, Surroundings(TOOLS, policy_server().opened), resume=resume)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]), int(sys.argv[5]))
