"""Where the spans of a run's model calls go: set up from OpenTelemetry's own environment."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from threading import Thread
from typing import TYPE_CHECKING, Any

from tmas_graph.errors import MissingExtra, SettingsError, TmasError
from tmas_graph.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_SECONDS = 2.0
"""How long the end of a run waits for a collector that doesn't answer."""
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


@contextmanager
def exporting(settings: Settings) -> Iterator[None]:
    """Send spans while this lasts, if an endpoint in use wants them; all are sent at its end.

    A tracer provider that is configured already stays. What a collector doesn't take is lost: the
    user is told so, and the run counts.

    Raises:
        MissingExtra: OpenTelemetry, or the exporter that the environment names, isn't installed.
        SettingsError: the environment names a protocol that there isn't, or a value is wrong.
    """
    if not any(settings.endpoint(role).telemetry for role in settings.roles_in_use):
        yield
        return
    from tmas_graph.models.telemetry import require_api

    require_api()
    from opentelemetry import trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        trace.set_tracer_provider(provider_of_environment())
    try:
        yield
    finally:
        _flush(getattr(trace.get_tracer_provider(), "force_flush", None))


def _flush(flush: Callable[[], object] | None) -> None:
    if flush is None:
        return
    # OpenTelemetry's own timeout of a flush is not kept, so another thread waits for its end.
    sending = Thread(target=flush, name="spans", daemon=True)
    sending.start()
    sending.join(_SECONDS)
    if sending.is_alive():
        print(  # through sys.stderr, which a live view may have replaced  # noqa: T201
            f"tmas: telemetry: spans couldn't be sent within {_SECONDS:g} s. "
            "See whether the collector that OTEL_EXPORTER_OTLP_ENDPOINT names runs.",
            file=sys.stderr,
        )


def provider_of_environment() -> "TracerProvider":
    """A provider as the OTEL_ variables describe it: OTLP over HTTP unless they say otherwise.

    It doesn't wait for a collector when the interpreter ends: `exporting` has sent what it could.

    Raises:
        MissingExtra: a part of OpenTelemetry isn't installed.
        SettingsError: a value is wrong.
    """
    try:
        return _provider()
    except TmasError:
        raise
    except ValueError as error:
        raise SettingsError(
            f"telemetry: OpenTelemetry's environment is wrong ({error}). Mend its OTEL_ variables."
        ) from error


def _provider() -> "TracerProvider":
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise _missing("its SDK") from error
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "tmas"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    for exporter in exporters():
        provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def exporters() -> list[Any]:
    """The span exporters that OTEL_TRACES_EXPORTER names."""
    wanted = os.environ.get("OTEL_TRACES_EXPORTER", "").strip() or "otlp"
    names = [name.strip() for name in wanted.split(",") if name.strip() not in ("", "none")]
    return [_exporter(_PROTOCOLS[_protocol()] if name == "otlp" else name) for name in names]


def _protocol() -> str:
    variables = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    given = [(name, os.environ[name].strip()) for name in variables if os.environ.get(name)]
    name, protocol = given[0] if given else ("", "http/protobuf")
    if protocol not in _PROTOCOLS:
        raise SettingsError(
            f"{name}: there is no protocol {protocol!r}. Write {' or '.join(_PROTOCOLS)}."
        )
    return protocol


def _exporter(name: str) -> Any:
    for point in entry_points(group="opentelemetry_traces_exporter", name=name):
        return point.load()()
    raise _missing(f"the exporter {name!r}")


def _missing(what: str) -> MissingExtra:
    return MissingExtra(
        f"telemetry: OpenTelemetry is here without {what}. Run pip install 'tmas-graph[otel]'."
    )
