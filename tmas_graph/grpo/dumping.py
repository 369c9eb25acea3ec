"""Keeps the samples of every step on the disk, a line each, to be read by people and by plots."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tmas_graph.errors import StorageError
from tmas_graph.grpo.scoring import Scored

SAMPLES = "samples"


def file_of(folder: Path, step: int) -> Path:
    """Give the file of the samples of a step of the run in `folder`."""
    return folder / SAMPLES / f"step-{step:06}.jsonl"


def dump(folder: Path, step: int, scored: Sequence[Scored]) -> None:
    """Write the samples that step `step` learned from, those of filtered groups included.

    Raises:
        StorageError: the file can't be written.
    """
    file = file_of(folder, step)
    partial = file.with_suffix(".partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as opened:
            for record in records(scored):
                opened.write(json.dumps(record, ensure_ascii=False) + "\n")
        partial.replace(file)
    except OSError as error:
        raise StorageError(
            f"{file}: can't be written ({error.strerror}). Free some room, or set "
            "log.samples = false."
        ) from error


def forget_after(folder: Path, step: int) -> None:
    """Remove the samples of steps after `step`, which a resumed run makes again."""
    for file in (folder / SAMPLES).glob("step-*"):
        if file.name > file_of(folder, step).name:
            file.unlink()


def records(scored: Sequence[Scored]) -> Iterator[dict[str, Any]]:
    """Give one record for each sample; `prompt` and `completion` are what mode sft reads."""
    for one in scored:
        row, modes = one.drawn.task.row, one.drawn.modes
        prompts = [part.prompt for part in one.drawn.task.parts for _ in range(part.size)]
        for place, sample in enumerate(one.drawn.samples):
            earned, found = one.rewards[place], one.findings[place]
            yield {
                "group": one.drawn.index,
                "problem": row.problem,
                "mode": modes[place],
                "prompt": list(prompts[place]),
                "completion": sample.text,
                "ground_truth": row.ground_truth,
                "reward": earned.total,
                **asdict(earned),
                "advantage": one.advantages[place],
                "novelty": found.novelty,
                "likeness": found.likeness,
                "judge": found.verdict and found.verdict._asdict(),
                "p0": one.p0,
                "tokens": len(sample.completion_ids),
                "finish_reason": sample.finish_reason,
                "version": sample.version,
                "seed": sample.seed,
            }
