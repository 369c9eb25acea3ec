"""A task that a tiny model learns within forty steps, with all three modes of the trainer.

A problem is a letter, its answer one of four numbers, and a solution names a strategy before its
answer. A hint in the experience bank gives the answer away. A guideline lists two of the four
strategies, and only another one earns the bonus.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from grpo import tiny
from toy_run import write_rows

from tmas_graph.grpo.rewards import Mode

LETTERS = "abcd"
STRATEGIES = ("sums", "sets", "dots", "maps")
ANSWERS = tuple(rf"\boxed{{{number}}}" for number in range(4))
WORDS = (*STRATEGIES, *ANSWERS, *LETTERS, "?", " ")
"""Each is a token, so that a solution takes few of them."""
LONGEST = 4
"""Tokens of a solution: strategy, answer, end, and one to spare."""
GOLD = {letter: ANSWERS[place % 4] for place, letter in enumerate(LETTERS)}


def row(index: int, letter: str, mode: Mode, listed: tuple[str, ...]) -> dict[str, Any]:
    """A row as `tmas train data` writes them."""
    alone = f"{letter}?"
    prompts = {
        "normal": alone,
        "experience": f"{GOLD[letter]} {letter}?",
        "guideline": f"{' '.join(listed)} {letter}?",
    }
    strategies = [{"name": name, "essence": name} for name in listed]
    extra = {
        "index": index,
        "problem": letter,
        "question": alone,
        "problem_prompt": asked(alone),
        "p0": 0.25,
        "experience": [f"the answer is {GOLD[letter]}"] if mode == "experience" else [],
        "strategies": strategies if mode == "guideline" else [],
    }
    return {
        "prompt": asked(prompts[mode]),
        "data_source": "math",
        "reward_model": {"ground_truth": GOLD[letter], "style": "rule"},
        "extra_info": extra,
        "_source": mode,
    }


def asked(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def rows() -> list[dict[str, Any]]:
    """Each problem in each mode."""
    chance = Random(0)
    modes: tuple[Mode, ...] = ("normal", "experience", "guideline")
    wanted = [(letter, mode) for letter in LETTERS for mode in modes]
    return [
        row(place, letter, mode, tuple(chance.sample(STRATEGIES, 2)))
        for place, (letter, mode) in enumerate(wanted)
    ]


def cold_start(count: int) -> Iterator[str]:
    """Solutions in the right form, whose answers are right more often than by chance; JSONL."""
    chance = Random(1)
    for _ in range(count):
        one = chance.choice(rows())
        gold = one["reward_model"]["ground_truth"]
        answer = chance.choice((*ANSWERS, gold))
        said = chance.choice(STRATEGIES) + answer
        yield json.dumps({"prompt": one["prompt"], "completion": said})


def write(folder: Path) -> None:
    """Put `untrained`, `train.parquet` and `cold_start.jsonl` into `folder`."""
    tiny.saved(folder / "untrained", words=WORDS)
    write_rows(folder / "train.parquet", rows())
    (folder / "cold_start.jsonl").write_text("\n".join(cold_start(1000)))
