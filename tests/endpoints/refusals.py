"""What a good server refuses, and in what words: keys, models, bodies, and too many tokens."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from endpoints.behaviour import Behaviour, reply_tokens
from endpoints.delivery import error_body
from endpoints.protocol import Failure, Request


def unauthorised(headers: Mapping[str, str], behaviour: Behaviour) -> Failure | None:
    """The refusal of a request without the key, where one is asked for."""
    key = behaviour.key
    if key is None or headers.get("Authorization") == f"Bearer {key}":
        return None
    said = "Incorrect API key provided."
    return Failure(status=401, body=error_body(said, "invalid_request_error", "invalid_api_key"))


def refusal(request: Request, behaviour: Behaviour) -> Failure | None:
    """What a good server refuses this request for, if anything."""
    if not request.messages:
        return Failure(status=400, message="messages: a non-empty list is required.")
    name = request.body.get("model")
    if name not in behaviour.models:
        said = f"The model `{name}` does not exist."
        return Failure(status=404, body=error_body(said, "NotFoundError", 404, param="model"))
    if request.n > 1 and behaviour.choices == "refused":
        return Failure(status=400, message="Only one completion choice is allowed.")
    return _too_long(request, behaviour)


@dataclass(frozen=True)
class _Excess:
    context: int
    prompt: int
    reply: int

    @property
    def wanted(self) -> int:
        return self.prompt + self.reply


def _too_long(request: Request, behaviour: Behaviour) -> Failure | None:
    if behaviour.context is None:
        return None
    excess = _Excess(behaviour.context, behaviour.tokens_of(request), reply_tokens(request.body))
    if excess.wanted <= excess.context:
        return None
    say = {
        "vllm": _vllm,
        "vllm_input": _vllm_input,
        "vllm_max_tokens": _vllm_max_tokens,
        "llama.cpp": _llama_cpp,
        "openai": _openai,
        "unhelpful": _unhelpful,
    }[behaviour.context_wording]
    return Failure(status=400, body=say(excess))


def _vllm(excess: _Excess) -> str:
    said = (
        f"This model's maximum context length is {excess.context} tokens. However, you requested "
        f"{excess.wanted} tokens ({excess.prompt} in the messages, {excess.reply} in the "
        "completion). Please reduce the length of the messages or completion."
    )
    return error_body(said, "BadRequestError", 400)


def _vllm_input(excess: _Excess) -> str:
    # vLLM since 0.15; pull request vllm-project/vllm#33425 shows it.
    param, value, more = "input_tokens", str(excess.prompt), ""
    advice = "the length of the input messages"
    if excess.reply:
        param, value = "input_tokens, max_tokens", f"({excess.prompt}, {excess.reply})"
        more, advice = f" plus {excess.reply} 'max_tokens'", "one or the other"
    said = (
        f"This model's maximum context length is {excess.context} tokens. However, your request "
        f"has {excess.prompt} input tokens{more}. Please reduce {advice}. "
        f"(parameter={param}, value={value})"
    )
    return error_body(said, "BadRequestError", 400, param=param)


def _vllm_max_tokens(excess: _Excess) -> str:
    # Older vLLM: the message is at the top; issue vllm-project/vllm#4667 shows it.
    left = excess.context - excess.wanted
    said: dict[str, Any] = {
        "object": "error",
        "message": f"max_tokens must be at least 1, got {left}.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    }
    return json.dumps(said)


def _llama_cpp(excess: _Excess) -> str:
    # The real one doesn't look at max_tokens; here they count, and are said to be of the prompt.
    said = {
        "code": 400,
        "message": f"request ({excess.wanted} tokens) exceeds the available context size "
        f"({excess.context} tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": excess.wanted,
        "n_ctx": excess.context,
    }
    return json.dumps({"error": said})


def _openai(excess: _Excess) -> str:
    said = (
        f"This model's maximum context length is {excess.context} tokens. However, your messages "
        f"resulted in {excess.wanted} tokens. Please reduce the length of the messages."
    )
    return error_body(said, "invalid_request_error", "context_length_exceeded", param="messages")


def _unhelpful(excess: _Excess) -> str:
    return error_body("Bad request", "invalid_request_error", None)
