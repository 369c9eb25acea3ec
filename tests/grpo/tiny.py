"""A model of Qwen3's shape with a vocabulary of characters, small enough for any machine."""

import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

SPECIAL = ("<pad>", "<eos>", "<user>", "<assistant>", "<unk>")
CHARACTERS = string.ascii_letters + string.digits + " +-*/=?."
TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def model(*, tied: bool = False, seed: int = 0) -> Any:
    """Random weights, wide enough apart that sampling isn't uniform."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=80,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=512,
        tie_word_embeddings=tied,
        initializer_range=0.2,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        dtype="float32",
    )
    return Qwen3ForCausalLM(config).eval()


def saved(folder: Path, *, tied: bool = False, words: Sequence[str] = CHARACTERS) -> Any:
    """Save a model with its tokenizer, and give it."""
    made = model(tied=tied)
    made.save_pretrained(folder)
    tokenizer(words).save_pretrained(folder)
    return made


def loaded(folder: Path) -> Any:
    """Load a saved model as a trainer does."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def tokenizer(words: Sequence[str] = CHARACTERS) -> PreTrainedTokenizerFast:
    """One token for each character, or each of `words`."""
    vocabulary = {token: at for at, token in enumerate((*SPECIAL, *words))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Split(Regex("|".join(map(re.escape, words))), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        additional_special_tokens=["<user>", "<assistant>"],
        chat_template=TEMPLATE,
    )


def names(folder: Path) -> list[str]:
    """What is in a folder; nothing where there is none."""
    return sorted(path.name for path in folder.glob("*"))


def shaken(made: Any, seed: int = 1, by: float = 0.05) -> None:
    """Change all that is trained a little, as steps of an optimizer would."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in made.parameters():
            if weight.requires_grad:
                weight.add_(torch.randn(weight.shape, generator=generator), alpha=by)


def logprobs_of(made: Any, temperature: float = 1.0) -> Any:
    """The trainer's side of a parity check."""

    def logprobs(prompt_ids: Any, completion_ids: Any) -> list[float]:
        ids = torch.tensor([[*prompt_ids, *completion_ids]])
        with torch.no_grad():
            logits = made(input_ids=ids).logits[0, len(prompt_ids) - 1 : -1].double()
        chosen = torch.tensor(completion_ids)[:, None]
        table = torch.log_softmax(logits / temperature, -1)
        return [float(value) for value in table.gather(1, chosen)[:, 0]]

    return logprobs
