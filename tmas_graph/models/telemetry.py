"""OpenTelemetry spans of model calls, by the semantic conventions for generative AI.

The conventions are still in development, so their names stand here in full: a span keeps its
shape whichever version of their package is installed. Not covered: metrics, and events of logs.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tmas_graph.errors import MissingExtra
from tmas_graph.models.call_rows import as_unicode, under_way
from tmas_graph.models.calls import Call, Sending
from tmas_graph.models.replies import Reply

try:
    from opentelemetry import trace
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError:  # pragma: no cover - what needs it is installed with Chroma
    if not TYPE_CHECKING:
        trace = None

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Variable by which OpenTelemetry's users say whether spans may hold prompts and replies."""
_CAPTURING = ("true", "span_only", "span_and_event")
_PROVIDERS = {
    "anthropic.com": "anthropic",
    "cohere.com": "cohere",
    "deepseek.com": "deepseek",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "groq.com": "groq",
    "mistral.ai": "mistral_ai",
    "openai.azure.com": "azure.ai.openai",
    "perplexity.ai": "perplexity",
    "x.ai": "x_ai",
}
"""By the end of a host's name; every other server speaks OpenAI's protocol, which names it."""
_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "stream": "stream",
}


def require_api() -> None:
    """Make sure that spans can be made.

    Raises:
        MissingExtra: OpenTelemetry isn't installed.
    """
    if trace is None:
        raise MissingExtra(
            "telemetry: OpenTelemetry isn't installed. Run pip install 'tmas-graph[otel]'."
        )


def emit(call: Call) -> None:
    """Make the span of `call`, which is over, within the span that is current.

    Without OpenTelemetry nothing happens; without a tracer provider next to nothing.
    """
    if trace is None:
        return
    began, ended = under_way(call)
    span = trace.get_tracer("tmas_graph").start_span(
        f"chat {as_unicode(call.model)}",
        kind=SpanKind.CLIENT,
        start_time=_nanoseconds(began),
        attributes=_of_request(call),
    )
    if span.is_recording():
        span.set_attributes(_of_response(call))
        if os.environ.get(CAPTURE, "").strip().lower() in _CAPTURING:
            span.set_attributes(_contents(call))
        for number, sending in enumerate(call.sendings[1:], start=2):
            before = call.sendings[number - 2]
            about = _of_sending(number, sending, before)
            span.add_event("tmas.sending", about, _nanoseconds(sending.began))
        if not call.replies:
            span.set_status(Status(StatusCode.ERROR, as_unicode(call.cause)))
    span.end(_nanoseconds(ended))


def _of_request(call: Call) -> dict[str, Any]:
    server = urlsplit(call.base_url)
    port = server.port or {"https": 443, "http": 80}.get(server.scheme)
    place = call.place
    known = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(server.hostname or ""),
        "gen_ai.request.model": call.model,
        "gen_ai.request.seed": call.seed,
        "gen_ai.request.choice.count": call.n if call.n != 1 else None,
        "server.address": server.hostname,
        "server.port": port,
        "tmas.problem": place.problem,
        "tmas.iteration": place.iteration,
        "tmas.role": place.role,
        "tmas.candidate": place.index,
        "tmas.purpose": call.purpose,
        "tmas.call": call.id,
        **_sampling(call.sampling),
    }
    return _present(known)


def _sampling(sampling: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"gen_ai.request.{name}": value
        for field, name in _SAMPLING.items()
        if isinstance(value := sampling.get(field), int | float)
    }


def _of_response(call: Call) -> dict[str, Any]:
    usage = call.usage
    known = {
        "gen_ai.response.model": call.served or None,
        "gen_ai.response.finish_reasons": [as_unicode(r.finish_reason) for r in call.replies]
        or None,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens or None,
        "tmas.usage.estimated_tokens": usage.estimated_tokens or None,
        "tmas.usage.cost": usage.cost or None,
        "tmas.requests": usage.calls,
        "tmas.queued_seconds": float(sum(sending.queued for sending in call.sendings)),
        "tmas.cut": json.dumps(dict(call.cut)) if call.cut else None,
        "error.type": None if call.replies else _error_type(call.sendings),
    }
    return _present(known)


def _of_sending(number: int, sending: Sending, before: Sending) -> dict[str, Any]:
    known = {
        "tmas.sending.number": number,
        "tmas.sending.because": before.outcome,
        "tmas.sending.outcome": sending.outcome,
        "tmas.sending.seconds": sending.seconds,
        "tmas.sending.queued_seconds": sending.queued,
        "http.response.status_code": sending.status,
    }
    return _present(known)


def _contents(call: Call) -> dict[str, str]:
    asked = [{"role": m["role"], "parts": [_part("text", m["content"])]} for m in call.messages]
    said = [
        {"role": "assistant", "parts": _parts(reply), "finish_reason": reply.finish_reason}
        for reply in call.replies
    ]
    names = ("gen_ai.input.messages", "gen_ai.output.messages")
    return {name: json.dumps(texts) for name, texts in zip(names, (asked, said), strict=True)}


def _parts(reply: Reply) -> list[dict[str, str]]:
    thinking = [_part("reasoning", reply.thinking)] if reply.thinking else []
    return [*thinking, _part("text", reply.text or reply.refusal)]


def _part(kind: str, content: str) -> dict[str, str]:
    return {"type": kind, "content": content}


def _provider(host: str) -> str:
    return next(
        (name for end, name in _PROVIDERS.items() if f".{host}".endswith(f".{end}")), "openai"
    )


def _error_type(sendings: Sequence[Sending]) -> str:
    """The status of the last request if it says what was wrong, else the conventions' `other`."""
    status = sendings[-1].status if sendings else None
    return str(status) if status is not None and status >= 400 else "_OTHER"


def _present(known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: as_unicode(value) if isinstance(value, str) else value
        for name, value in known.items()
        if value is not None
    }


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
