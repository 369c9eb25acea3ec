"""Tokens per second and memory of a GRPO loss step, ours and TRL's, side by side.

    python -m benchmarks.trainer [--rounds 3] [--steps 3] [--layers 4] [--hidden 256]
        [--vocabulary 49152]

Each round runs each trainer in a process of its own, in turns, on the same Qwen3-shaped model with
random weights (float32), the same rows and two threads. A step is loss, gradients and their norm,
of all rows in one batch. "memory" is the most that the process held in a step, above what it held
once the model was loaded; gradients are in it. Two workloads of 16 prompts of 32 tokens and about
2 000 completion tokens:

- ragged: completions of 16 to 256 tokens, as a policy samples them; TRL pads them, we pack them
- equal: completions of 128 tokens, so that there is no padding to save

TRL's trainer is its own `_compute_loss`, with its tiled output head, as `GRPOTrainer` sets it up.
Neither side computes activations twice. On a processor TRL's head works without its Triton kernel,
and scores every position, prompts and padding included; on a GPU it scores completions alone, so
the ratios found here aren't those of a GPU.
Shown are medians with the range, and the ratio ours/theirs of the medians, with the loss that each
found; the two must be the same, else the run fails.
"""

import argparse
import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import torch
from rich.console import Console
from rich.table import Table
from transformers import Qwen3Config, Qwen3ForCausalLM

from tmas_graph.grpo.loss import LossSettings
from tmas_graph.grpo.policy import Policy
from tmas_graph.grpo.samples import Sample, TrainingRow
from tmas_graph.grpo.step import StepSettings, grpo_step

WORKLOADS = {"ragged": (16, 256), "equal": (128, 128)}
"""Fewest and most tokens of a completion."""
ROWS, PROMPT = 16, 32
Step = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Measure:
    """What one process measured."""

    per_second: float
    """Completion tokens."""
    memory: float
    """MiB."""
    loss: float


def main() -> None:
    """Run all rounds and print the table, or be one process of a round."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=49_152)
    parser.add_argument("--only", nargs=2, metavar=("TRAINER", "WORKLOAD"))
    arguments = parser.parse_args()
    if arguments.only:
        trainer, workload = arguments.only
        print(json.dumps(_measure(trainer, workload, arguments)))
        return
    found = defaultdict[tuple[str, str], list[Measure]](list)
    for _ in range(arguments.rounds):
        for workload in WORKLOADS:
            for trainer in TRAINERS:
                done = subprocess.run(
                    [sys.executable, *sys.argv, "--only", trainer, workload],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                measure = Measure(**json.loads(done.stdout.splitlines()[-1]))
                found[trainer, workload].append(measure)
    _show(found)


def _show(found: dict[tuple[str, str], list[Measure]]) -> None:
    table = Table("completions", "trainer", "tokens/s", "memory, MiB", "loss")
    for workload in WORKLOADS:
        for trainer in TRAINERS:
            measures = found[trainer, workload]
            table.add_row(
                workload,
                trainer,
                _spread([measure.per_second for measure in measures]),
                _spread([measure.memory for measure in measures]),
                f"{measures[0].loss:.6f}",
            )
        speed, memory = (
            median(getattr(measure, name) for measure in found["ours", workload])
            / median(getattr(measure, name) for measure in found["TRL", workload])
            for name in ("per_second", "memory")
        )
        losses = [found[trainer, workload][0].loss for trainer in TRAINERS]
        if abs(losses[0] - losses[1]) > 1e-4:
            raise SystemExit(f"{workload}: the losses differ ({losses}); nothing is comparable.")
        table.add_row(workload, "ours/TRL", f"{speed:.2f}×", f"{memory:.2f}×", "")
    Console().print(table)


def _spread(values: list[float]) -> str:
    return f"{median(values):.0f} ({min(values):.0f}–{max(values):.0f})"


def _measure(trainer: str, workload: str, arguments: argparse.Namespace) -> dict[str, float]:
    torch.set_num_threads(2)
    torch.manual_seed(0)
    shape = {
        "vocab_size": arguments.vocabulary,
        "hidden_size": arguments.hidden,
        "intermediate_size": 3 * arguments.hidden,
        "num_hidden_layers": arguments.layers,
        "num_attention_heads": arguments.hidden // 64,
        "num_key_value_heads": max(1, arguments.hidden // 128),
        "head_dim": 64,
    }
    model = Qwen3ForCausalLM(Qwen3Config(**shape, tie_word_embeddings=False)).train()
    rows = _rows(arguments.vocabulary, *WORKLOADS[workload])
    step = TRAINERS[trainer](model, rows)
    gc.collect()
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    loss = step()
    began = time.perf_counter()
    for _ in range(arguments.steps):
        step()
    seconds = (time.perf_counter() - began) / arguments.steps
    memory = _resident("VmHWM") - before
    tokens = sum(len(row.sample.completion_ids) for row in rows)
    return {"per_second": tokens / seconds, "memory": memory, "loss": loss}


def _rows(vocabulary: int, fewest: int, most: int) -> list[TrainingRow]:
    chance = random.Random(0)

    def tokens(count: int) -> tuple[int, ...]:
        return tuple(chance.randrange(vocabulary) for _ in range(count))

    return [
        TrainingRow(
            Sample(tokens(PROMPT), tokens(chance.randint(fewest, most))), 0, chance.gauss(0, 1)
        )
        for _ in range(ROWS)
    ]


def _ours(model: Qwen3ForCausalLM, rows: list[TrainingRow]) -> Step:
    policy = Policy(model)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.0)
    settings = StepSettings(loss=LossSettings(clip_high=0.2), normaliser="batch")
    return lambda: grpo_step(policy, optimizer, rows, settings).loss


def _trl(model: Qwen3ForCausalLM, rows: list[TrainingRow]) -> Step:
    """TRL's loss function, with a trainer that has nothing but what it reads."""
    from trl import GRPOTrainer  # noqa: PLC0415  (not in the memory of our own process)
    from trl.trainer.utils import add_fused_lm_head  # noqa: PLC0415

    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    trainer = SimpleNamespace(
        loss_type="bnpo",
        beta=0.0,
        importance_sampling_level="token",
        epsilon_low=0.2,
        epsilon_high=0.2,
        use_vllm=False,
        args=SimpleNamespace(delta=None),
        model=model,
        accelerator=SimpleNamespace(
            num_processes=1,
            is_main_process=True,
            reduce=lambda value, reduction: value,
            gather=lambda value: value,
            autocast=nullcontext,
        ),
        _metrics={"train": defaultdict(list)},
        current_gradient_accumulation_steps=1,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        aux_loss_enabled=False,
        _entropy_bonus_enabled=False,
    )
    logprobs = GRPOTrainer._get_per_token_logps_and_entropies
    trainer._get_per_token_logps_and_entropies = lambda *given, **more: logprobs(
        trainer, *given, **more
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    inputs = _padded(rows)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = GRPOTrainer._compute_loss(trainer, model, inputs)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return step


def _padded(rows: list[TrainingRow]) -> dict[str, torch.Tensor]:
    width = max(len(row.sample.completion_ids) for row in rows)
    completions = [row.sample.completion_ids for row in rows]
    lengths = torch.tensor([len(ids) for ids in completions])
    return {
        "prompt_ids": torch.tensor([row.sample.prompt_ids for row in rows]),
        "prompt_mask": torch.ones(len(rows), PROMPT, dtype=torch.long),
        "completion_ids": torch.tensor([[*ids, *[0] * (width - len(ids))] for ids in completions]),
        "completion_mask": (torch.arange(width) < lengths[:, None]).long(),
        "advantages": torch.tensor([row.advantage for row in rows]),
        "num_items_in_batch": lengths.sum(),
    }


def _resident(name: str) -> float:
    """VmRSS or VmHWM of this process, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


TRAINERS: dict[str, Callable[[Qwen3ForCausalLM, list[TrainingRow]], Step]] = {
    "ours": _ours,
    "TRL": _trl,
}

if __name__ == "__main__":
    main()
