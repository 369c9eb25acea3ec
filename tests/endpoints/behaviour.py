"""How a scripted server behaves: one frozen record, of which tests change what they need."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from endpoints.fault import Fault
from endpoints.protocol import Failure, Messages, Request, Script

Wording = Literal["vllm", "vllm_input", "vllm_max_tokens", "llama.cpp", "openai", "unhelpful"]


def count_tokens(text: str) -> int:
    """About what tokenizers give for English: one per four characters."""
    return -(-len(text) // 4)


def no_role(messages: Messages) -> str:
    """Give every request the role "unknown"."""
    return "unknown"


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What a scripted server does; the defaults are those of a good server."""

    script: Script
    role_of: Callable[[Messages], str] = no_role
    models: tuple[str, ...] = ("scripted",)
    key: str | None = None
    """Asked of every request under /v1 where it is set."""
    choices: Literal["honoured", "ignored", "short", "more", "refused"] = "honoured"
    """What becomes of n > 1: n choices, 1, n − 1, n + 1 (of n = 1 too), or HTTP 400."""
    streams: Literal["as_asked", "never", "always"] = "as_asked"
    """Whether an answer is a stream, whatever was asked for in the last two."""
    latency: float | Callable[[Request], float] = 0.0
    """Seconds before the first byte, of answers and scripted failures."""
    fail: Callable[[Request], Failure | int | None] | None = None
    """The failure (or its HTTP status) of those requests that fail; None for the others."""
    fault: Callable[[Request], Fault | None] | None = None
    """The fault of those requests that neither are refused nor `fail`; None for the others."""
    thinking: Literal["reasoning", "reasoning_content", "inline", "inline_unopened"] = "reasoning"
    """The message's field for it, or `<think>…</think>` before the text, its opening tag or not."""
    usage: Literal["whole", "first_choice", "bare", "cached", "null", "none"] = "whole"
    """Completion tokens of all choices or of the first only (as llama.cpp does); `bare` has no
    details, `cached` tells how much of the prompt was; null, or no usage at all."""
    count_tokens: Callable[[str], int] = count_tokens
    tokenize: bool | Literal["llama.cpp"] | Failure = False
    """Whether POST /tokenize is served (True: as vLLM does), or how it fails."""
    listing: Failure | None = None
    """How /v1/models fails, if it does."""
    listing_latency: float = 0.0
    """Seconds before /v1/models answers."""
    max_model_len: int | None = 131_072
    """Listed, not enforced; None leaves it out, as servers other than vLLM do."""
    context: int | None = None
    """Tokens of prompt and reply together; what asks for more is refused. None: no limit."""
    context_wording: Wording = "vllm"
    """In whose words a request is refused that exceeds `context`."""
    fingerprint: str = "fp_scripted"
    piece_chars: int = 400
    """Characters in a streamed chunk, at most."""

    def fault_of(self, request: Request) -> Fault | None:
        """The fault that a request's answer has: a failure, or a fault that fits it."""
        if self.fail and (failure := self.fail(request)):
            failure = Failure(status=failure) if isinstance(failure, int) else failure
            return Fault(name=f"http_{failure.status}", failure=failure)
        fault = self.fault(request) if self.fault else None
        return fault if fault and fault.fits(request) else None

    def tokens_of(self, request: Request) -> int:
        """Tokens of a request's messages."""
        return self.count_tokens(request.text)


def reply_tokens(body: Any) -> int:
    """Tokens that a request wants to keep for its reply; 0 where it doesn't say."""
    return body.get("max_completion_tokens") or body.get("max_tokens") or 0
