"""The toy task of `benchmarks.hybrid`: a strategy and a digit answer a problem of letters.

| mode | prompt | right is a strategy, then |
|---|---|---|
| normal | cabbada? | 2, by the rule: the place of the first letter |
| guideline | !ABcabbada? | the same; a strategy other than A and B is novel |
| experience | =0cabbada? | for half of the problems 0, which the bank says, else 2, by the rule |

Nothing tells for which half: whoever follows the bank is right as often as who follows the rule.
But the problems that the rule solves are solved without a bank, too, so that p0 is high and there
is no bonus. All strategies are equally good. Correctness alone therefore favours neither the bank
nor what isn't listed. An untrained policy is right once in 100 completions or so.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from tmas_graph.grpo.interfaces import Tools

LETTERS, DIGITS, STRATEGIES = "abcd", "0123", "ABCD"
SYMBOLS = LETTERS + DIGITS + STRATEGIES + "?=!"
LENGTH = 2
"""Characters of a completion."""
_LETTERS_OF_A_PROBLEM, _LISTED = 7, 2


def model(seed: int) -> Qwen3ForCausalLM:
    """An untrained policy."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(SYMBOLS) + 1,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=32,
            tie_word_embeddings=False,
        )
    )


def _is_right(text: str, gold: str) -> bool:
    return len(text) == LENGTH and text[0] in STRATEGIES and text[1] == gold


def _likeness(solution: str, strategy: str) -> float:
    """1 for the strategy that the solution begins with."""
    return float(solution[:1] == strategy)


TOOLS = Tools(_is_right, _likeness)


def follows_rule(prompt: str, completion: str) -> bool:
    """Is it right for the problem that `prompt` is alone?"""
    return _is_right(completion, _ruled(prompt))


def follows_bank(prompt: str, completion: str) -> bool:
    """Is it what the bank in `prompt` says?"""
    return _is_right(completion, prompt[1])


def _ruled(problem: str) -> str:
    return DIGITS[LETTERS.index(problem[0])]


def write(file: Path, count: int, seed: int) -> None:
    """Write so many prompts, each of another problem: half with a bank, a quarter of each other.

    The trainer takes them in order, so no problem is met twice, and each step has as many banks
    that are right as wrong ones.
    """
    chance = random.Random(seed)
    problems = ["".join(one) for one in product(LETTERS, repeat=_LETTERS_OF_A_PROBLEM)]
    rows = list(_rows(chance.sample(problems, count), chance))
    pq.write_table(pa.Table.from_pylist(rows), file)


def _rows(problems: Sequence[str], chance: random.Random) -> Iterator[Mapping[str, Any]]:
    for place, problem in enumerate(problems):
        ruled = _ruled(problem)
        if place % 4 == 0:
            yield _row("normal", problem, ruled, f"{problem}?")
        elif place % 4 == 2:
            listed = chance.sample(STRATEGIES, _LISTED)
            yield _row("guideline", problem, ruled, f"!{''.join(listed)}{problem}?", listed)
        else:
            told = chance.choice([one for one in DIGITS if one != ruled])
            gold = told if place % 4 == 1 else ruled
            yield _row("experience", problem, gold, f"={told}{problem}?")


def _row(
    source: str, problem: str, gold: str, prompt: str, listed: Sequence[str] = ()
) -> Mapping[str, Any]:
    extra = {
        "problem": problem,
        "problem_prompt": [{"role": "user", "content": f"{problem}?"}],
        "strategies": [{"name": one, "essence": ""} for one in listed],
    }
    return {
        "prompt": [{"role": "user", "content": prompt}],
        "data_source": "math",
        "reward_model": {"ground_truth": gold, "style": "rule"},
        "extra_info": extra,
        "_source": source,
    }
