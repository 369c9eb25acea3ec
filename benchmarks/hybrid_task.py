"""The toy task of `benchmarks.hybrid`: a strategy and a digit answer a problem of letters.

| mode | prompt | right is a strategy, then |
|---|---|---|
| normal | cabbada? | 2, by the rule: the place of the first letter |
| guideline | !ABcabbada? | the same; a strategy other than A and B is novel |
| experience | =0cabbada? | for half of the problems 0, which the bank says, else 2, by the rule |

Nothing tells for which half, since each of these prompts is asked twice in one step, once with
either answer: whoever follows the bank is right as often as who follows the rule. But what the
rule solves is solved without a bank, too, so that p0 is high and there is no bonus. All strategies
are equally good. Correctness alone therefore favours neither the bank nor what isn't listed.

A policy is first taught by verified completions of other problems, as in the cold start of a real
one. Half of their banks are right, and three of four use a listed strategy, which is what a model
does that is shown a list. It then knows the rule, follows half of the banks, and has seen what a
list means: a policy that knows nothing settles before any bonus has been seen.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tmas_graph.grpo.interfaces import Tools

LETTERS, DIGITS, STRATEGIES = "abcd", "0123", "ABCD"
SYMBOLS = LETTERS + DIGITS + STRATEGIES + "?=!"
LENGTH = 2
"""Characters of a completion."""
_LETTERS_OF_A_PROBLEM, _LISTED = 7, 2
_MET = 4096
"""Problems of a run; the others are there to teach."""
_AS_LISTED = 0.75
"""How often a teacher uses a listed strategy."""
_END = "</s>"
_TEMPLATE = "{% for message in messages %}{{ message.content }}{% endfor %}"


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
            initializer_range=0.1,
            max_position_embeddings=32,
            tie_word_embeddings=False,
        )
    )


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each symbol, and one for the end."""
    vocabulary = {symbol: place for place, symbol in enumerate((*SYMBOLS, _END))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token=_END))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=_END, chat_template=_TEMPLATE)


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
    """Write so many prompts, a multiple of six: half with guidelines, a third with a bank.

    The trainer takes them in order, so that no problem is met in two steps, if these have a
    multiple of six, too.
    """
    chance = random.Random(seed)
    rows = list(_rows(_taken(_problems(seed)[:_MET], count), chance))
    pq.write_table(pa.Table.from_pylist(rows), file)


def teach(file: Path, count: int, seed: int) -> None:
    """Write so many verified completions, of problems that `write` leaves to them."""
    chance = random.Random(seed + 1)
    problems = _taken(_problems(seed)[: _MET - 1 : -1], count)
    lines = [
        {
            "prompt": row["prompt"],
            "completion": _usual(row, chance) + row["reward_model"]["ground_truth"],
        }
        for row in _rows(problems, chance)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _usual(row: Mapping[str, Any], chance: random.Random) -> str:
    """Give the strategy that a teacher uses, who was shown the list and takes it as advice."""
    listed = [one["name"] for one in row["extra_info"]["strategies"]]
    others = [one for one in STRATEGIES if one not in listed]
    return chance.choice(listed if listed and chance.random() < _AS_LISTED else others)


def _problems(seed: int) -> list[str]:
    """All problems, in an order of the seed."""
    problems = ["".join(one) for one in product(LETTERS, repeat=_LETTERS_OF_A_PROBLEM)]
    random.Random(seed).shuffle(problems)
    return problems


def _taken(problems: Sequence[str], rows: int) -> Sequence[str]:
    """Give the problems of so many rows."""
    count = rows * 5 // 6
    if count > len(problems):
        raise ValueError(
            f"hybrid_task: {rows} rows need {count} problems, and there are {len(problems)}. "
            "Take fewer steps, or smaller ones."
        )
    return problems[:count]


def _rows(problems: Sequence[str], chance: random.Random) -> Iterator[Mapping[str, Any]]:
    """Six rows for five problems."""
    for alone, *guided, banked in zip(*(problems[at::5] for at in range(5)), strict=True):
        yield _row("normal", alone, _ruled(alone), f"{alone}?")
        for problem in guided:
            listed = chance.sample(STRATEGIES, _LISTED)
            prompt = f"!{''.join(listed)}{problem}?"
            yield _row("guideline", problem, _ruled(problem), prompt, listed)
        ruled = _ruled(banked)
        told = chance.choice([one for one in DIGITS if one != ruled])
        for gold in (told, ruled):
            yield _row("experience", banked, gold, f"={told}{banked}?")


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
