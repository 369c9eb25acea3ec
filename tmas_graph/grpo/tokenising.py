"""Verified completions in tokens; only supervised fine-tuning tokenises here.

What was sampled keeps the server's own tokens. A completion out of a file has none, and so the
chat template and the tokenizer of the model make them, with the token that ends a turn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.grpo.rows import Message
from tmas_graph.grpo.samples import Sample


def tokenizer_of(model: str) -> Any:
    """Load the tokenizer of `model`.

    Raises:
        StorageError: it has none.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415  (takes seconds)

    try:
        return AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{model}: its tokenizer can't be loaded ({str(error).strip():.150}). Give a folder "
            "with tokenizer.json, or a name on the Hugging Face hub."
        ) from error


def sample_of(
    tokenizer: Any, prompt: Sequence[Message], completion: str, template: Mapping[str, Any]
) -> Sample:
    """Give prompt and completion in tokens, the end of the turn included.

    Raises:
        SettingsError: the tokenizer has no token that ends a turn.
    """
    if tokenizer.eos_token_id is None:
        raise SettingsError(
            "tokenizer: it has no eos_token, so a completion would never end. Set one in its "
            "tokenizer_config.json."
        )
    text = tokenizer.apply_chat_template(
        list(prompt), add_generation_prompt=True, tokenize=False, **template
    )
    prompt_ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = tokenizer(completion, add_special_tokens=False)["input_ids"]
    return Sample(tuple(prompt_ids), (*ids, tokenizer.eos_token_id))
