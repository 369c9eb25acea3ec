"""What a scripted server serves beside completions: the list of models, and tokens."""

from collections.abc import Mapping
from typing import Any

from endpoints.behaviour import Behaviour
from endpoints.delivery import Answer, failed, plain
from endpoints.protocol import Failure, messages_of, text_of


def models(behaviour: Behaviour) -> Answer:
    """The list of models, as vLLM gives it."""
    if behaviour.listing:
        return failed(behaviour.listing)
    limit = {} if behaviour.max_model_len is None else {"max_model_len": behaviour.max_model_len}
    cards = [
        {
            "id": name,
            "object": "model",
            "created": 1_700_000_000,
            "owned_by": "vllm",
            "root": name,
            "parent": None,
            **limit,
        }
        for name in behaviour.models
    ]
    return plain({"object": "list", "data": cards})


def tokens(body: Mapping[str, Any], behaviour: Behaviour) -> Answer:
    """The tokens of a text, as the server that is played counts them."""
    if isinstance(behaviour.tokenize, Failure):
        return failed(behaviour.tokenize)
    if not behaviour.tokenize:
        return failed(Failure(status=404, message="Not Found"))
    if behaviour.tokenize == "llama.cpp":
        # It takes no other field, and gives no tokens where it finds no text.
        count = behaviour.count_tokens(str(body.get("content", "")))
        return plain({"tokens": list(range(count))})
    if "prompt" not in body and not messages_of(body):
        return failed(Failure(status=400, message="prompt or messages: a field is required."))
    text = body["prompt"] if "prompt" in body else text_of(messages_of(body))
    count = behaviour.count_tokens(text)
    return plain(
        {
            "count": count,
            "max_model_len": behaviour.max_model_len,
            "tokens": list(range(count)),
            "token_strs": None,
        }
    )
