"""Language models small enough to be trained by a test, and samples for them."""

import random
from collections.abc import Sequence

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from tmas_graph.grpo.samples import Sample, TrainingRow

VOCABULARY = 61
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "max_position_embeddings": 128,
}


def tiny_qwen(seed: int = 0, *, tied: bool = False, **changes: int) -> Qwen3ForCausalLM:
    """A Qwen3 with random weights, the same for the same seed."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(Qwen3Config(**{**SHAPE, **changes}, tie_word_embeddings=tied))


def tiny_llama(seed: int = 0) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**SHAPE, tie_word_embeddings=False))


def samples(count: int, seed: int = 0, longest: int = 9) -> list[Sample]:
    """Prompts and completions of random tokens and lengths."""
    chance = random.Random(seed)

    def tokens(most: int) -> tuple[int, ...]:
        return tuple(chance.randrange(VOCABULARY) for _ in range(chance.randint(1, most)))

    return [Sample(tokens(6), tokens(longest)) for _ in range(count)]


def training_rows(count: int, groups: int = 2, seed: int = 0) -> list[TrainingRow]:
    """Rows with server's and old log-probabilities, in groups, some tokens masked."""
    chance = random.Random(seed + 1)
    made = []
    for place, sample in enumerate(samples(count, seed)):
        size = range(len(sample.completion_ids))
        sampled = tuple(-4.1 + chance.gauss(0, 0.2) for _ in size)
        mask = tuple(at == 0 or chance.random() < 0.9 for at in size)
        given = Sample(sample.prompt_ids, sample.completion_ids, sampled, mask)
        old = tuple(value + chance.gauss(0, 0.1) for value in sampled)
        made.append(TrainingRow(given, place % groups, chance.gauss(0, 1), old))
    return made


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """All gradients by name, zeros for what has none."""
    return {
        name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.requires_grad
    }


def largest_gap(
    one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], skip: Sequence[str] = ()
) -> float:
    """The largest difference of any element."""
    assert one.keys() == other.keys()
    return max(float((one[name] - other[name]).abs().max()) for name in one if name not in skip)
