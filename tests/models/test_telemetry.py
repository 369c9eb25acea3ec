import json
from collections.abc import Iterator
from typing import Any

import pytest
from made import NOON, failed, made, sent
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import SpanKind, StatusCode

from tmas_graph.errors import MissingExtra
from tmas_graph.models import telemetry
from tmas_graph.models.calls import Call
from tmas_graph.models.replies import Reply
from tmas_graph.models.telemetry import CAPTURE, emit
from tmas_graph.usage import Usage


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Takes the spans of this test; the provider of the process stays as it is."""
    monkeypatch.delenv(CAPTURE, raising=False)
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def span_of(exporter: InMemorySpanExporter, call: Call) -> ReadableSpan:
    exporter.clear()
    emit(call)
    [span] = exporter.get_finished_spans()
    return span


def attributes_of(exporter: InMemorySpanExporter, call: Call) -> dict[str, Any]:
    return dict(span_of(exporter, call).attributes or {})


def test_a_call_is_a_span_with_the_conventions_attributes(exporter: InMemorySpanExporter) -> None:
    usage = Usage(1, 100, 30, 12, 64, 5, 0.25)
    call = made(
        n=2,
        iteration=3,
        index=1,
        cut={"solutions": 2},
        replies=(Reply("a"), Reply("b", finish_reason="length")),
        sendings=(sent(queued=0.5, usage=usage),),
    )
    span = span_of(exporter, call)
    assert (span.name, span.kind) == ("chat asked", SpanKind.CLIENT)
    assert (span.start_time, span.end_time) == (int((NOON - 0.5) * 1e9), int((NOON + 2) * 1e9))
    assert (span.status.status_code, span.events, span.parent) == (StatusCode.UNSET, (), None)
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "asked",
        "gen_ai.request.temperature": 0.6,
        "gen_ai.request.top_p": 0.95,
        "gen_ai.request.max_tokens": 500,
        "gen_ai.request.seed": 2048,
        "gen_ai.request.choice.count": 2,
        "gen_ai.response.model": "served",
        "gen_ai.response.finish_reasons": ("stop", "length"),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.usage.reasoning.output_tokens": 12,
        "server.address": "127.0.0.1",
        "server.port": 8000,
        "tmas.problem": "p",
        "tmas.iteration": 3,
        "tmas.role": "solution",
        "tmas.candidate": 1,
        "tmas.purpose": "first",
        "tmas.call": "0a",
        "tmas.usage.estimated_tokens": 5,
        "tmas.usage.cost": 0.25,
        "tmas.requests": 1,
        "tmas.queued_seconds": 0.5,
        "tmas.cut": '{"solutions": 2}',
    }


def test_every_name_is_one_of_the_conventions(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "true")
    known = {name for name in vars(gen_ai_attributes).values() if isinstance(name, str)}
    sampling = dict.fromkeys(telemetry._SAMPLING, 1)
    call = made(n=2, sampling=sampling, sendings=(sent(usage=Usage(1, 2, 3, 4, 5)),))
    used = {name for name in attributes_of(exporter, call) if name.startswith("gen_ai.")}
    assert len(used) > 15
    assert used <= known


def test_a_span_is_within_the_current_one(exporter: InMemorySpanExporter) -> None:
    with trace.get_tracer("test").start_as_current_span("a problem") as outer:
        emit(made())
    inner = exporter.get_finished_spans()[0]
    assert inner.parent is not None
    assert inner.parent.span_id == outer.get_span_context().span_id


def test_a_failed_call_is_an_error_with_its_requests_as_events(
    exporter: InMemorySpanExporter,
) -> None:
    span = span_of(exporter, failed())
    assert (span.status.status_code, span.status.description) == (
        StatusCode.ERROR,
        "it is overloaded",
    )
    attributes = dict(span.attributes or {})
    assert (attributes["error.type"], attributes["tmas.requests"]) == ("503", 2)
    assert "gen_ai.response.model" not in attributes
    [event] = span.events
    assert (event.name, event.timestamp) == ("tmas.sending", int((NOON + 5) * 1e9))
    assert dict(event.attributes or {}) == {
        "tmas.sending.number": 2,
        "tmas.sending.because": "HTTP 503",
        "tmas.sending.outcome": "HTTP 503",
        "tmas.sending.seconds": 1.0,
        "tmas.sending.queued_seconds": 1.0,
        "http.response.status_code": 503,
    }


@pytest.mark.parametrize(
    "sendings", [(), (sent(status=None, outcome="broke off"),), (sent(status=200),)]
)
def test_an_error_without_a_telling_status_is_of_another_type(
    exporter: InMemorySpanExporter, sendings: Any
) -> None:
    assert attributes_of(exporter, failed(sendings=sendings))["error.type"] == "_OTHER"


@pytest.mark.parametrize("value", [None, "false", "NO_CONTENT", "event_only"])
def test_a_span_holds_no_text_unless_it_is_asked_to(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv(CAPTURE, value)
    told = json.dumps(attributes_of(exporter, made(text="s3cret", replies=(Reply("s3cret"),))))
    assert "s3cret" not in told


@pytest.mark.parametrize("value", ["true", "True", "span_only"])
def test_messages_are_captured_in_the_conventions_form(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv(CAPTURE, value)
    told = attributes_of(exporter, made(text="Why\ud800?", replies=(Reply("42", "hm"),)))
    assert json.loads(told["gen_ai.input.messages"])[1] == {
        "role": "user",
        "parts": [{"type": "text", "content": "Why\ud800?"}],
    }
    assert json.loads(told["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "42"},
            ],
            "finish_reason": "stop",
        }
    ]


@pytest.mark.parametrize(
    ("url", "provider", "port"),
    [
        ("https://api.deepseek.com/v1", "deepseek", 443),
        ("https://x.openai.azure.com/openai/v1", "azure.ai.openai", 443),
        ("https://max.ai/v1", "openai", 443),
        ("http://gpu/v1", "openai", 80),
    ],
)
def test_the_provider_is_known_by_its_host(
    exporter: InMemorySpanExporter, url: str, provider: str, port: int
) -> None:
    told = attributes_of(exporter, made(base_url=url))
    assert (told["gen_ai.provider.name"], told["server.port"]) == (provider, port)


def test_text_that_is_no_unicode_can_be_exported(exporter: InMemorySpanExporter) -> None:
    odd = "\ud800"
    call = failed(served=odd, model=odd, cause=odd)
    span = span_of(exporter, call)
    assert span.name == "chat \\ud800"
    assert span.status.description == "\\ud800"
    assert "\ud800" not in str(dict(span.attributes or {}))


def test_without_opentelemetry_nothing_happens_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(telemetry, "trace", None)
    emit(made())
    with pytest.raises(MissingExtra, match=r"Run pip install 'tmas-graph\[otel\]'"):
        telemetry.require_api()
