"""Spans of model calls on their way to a collector."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tmas_graph.cli.telemetry import exporters, exporting, provider_of_environment
from tmas_graph.errors import MissingExtra, SettingsError
from tmas_graph.settings import Settings

TESTS = Path(__file__).parents[1]
PROGRAM = """
from made import made
from tmas_graph.cli.telemetry import exporting
from tmas_graph.models.telemetry import emit
from tmas_graph.settings import Settings
for wanted in (True, False, True):
    with exporting(Settings(telemetry=wanted)):
        emit(made("on" if wanted else "off"))
    print("left")
"""


class Collector(HTTPServer):
    """Takes what OTLP over HTTP sends."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.got: list[tuple[str, ExportTraceServiceRequest]] = []


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as it:
        thread = threading.Thread(target=it.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield it
        it.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)


def run(program: str, **environment: str) -> str:
    """What `program` prints, in a process of its own: its tracer provider is for good."""
    path = os.pathsep.join(map(str, (TESTS, TESTS.parent)))
    given = {**os.environ, "PYTHONPATH": path, **environment}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_spans_go_to_the_collector_that_the_environment_names(collector: Collector) -> None:
    url = f"http://127.0.0.1:{collector.server_port}"
    run(PROGRAM, OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_RESOURCE_ATTRIBUTES="team=blue")
    spans = []
    for path, request in collector.got:
        assert path == "/v1/traces"
        [group] = request.resource_spans
        about = {pair.key: pair.value.string_value for pair in group.resource.attributes}
        assert (about["service.name"], about["team"]) == ("tmas", "blue")
        spans += [span for scope in group.scope_spans for span in scope.spans]
    calls = [
        pair.value.string_value
        for span in spans
        for pair in span.attributes
        if pair.key == "tmas.call"
    ]
    assert calls[0] == calls[-1] == "on"
    assert {span.name for span in spans} == {"chat asked"}


def test_all_spans_are_sent_when_the_run_is_over(collector: Collector) -> None:
    url = f"http://127.0.0.1:{collector.server_port}"
    died = PROGRAM.replace('print("left")', "import os; os._exit(0)")  # with no clean-up at all
    run(died, OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SERVICE_NAME="mine")
    [(_, request)] = collector.got
    about = {p.key: p.value.string_value for p in request.resource_spans[0].resource.attributes}
    assert about["service.name"] == "mine"


def test_a_provider_that_is_configured_stays() -> None:
    program = (
        "from opentelemetry import trace\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "mine = TracerProvider()\n"
        "trace.set_tracer_provider(mine)\n"
        + PROGRAM
        + "assert trace.get_tracer_provider() is mine\n"
    )
    assert run(program) == "left\n" * 3


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("none", []),
        ("console", ["ConsoleSpanExporter"]),
        ("", ["OTLPSpanExporter"]),
        ("otlp, console", ["OTLPSpanExporter", "ConsoleSpanExporter"]),
    ],
)
def test_exporters_are_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, value: str, names: list[str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", value)
    made = exporters()
    assert [type(exporter).__name__ for exporter in made] == names
    for exporter in made:
        exporter.shutdown()


def test_what_isnt_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin_of_mine")
    with pytest.raises(MissingExtra, match=r"without the exporter 'zipkin_of_mine'\. Run pip"):
        exporters()
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "smoke")
    with pytest.raises(SettingsError, match=r"^OTEL_EXPORTER_OTLP_PROTOCOL: .* 'smoke'. Write"):
        exporters()


def test_nothing_is_set_up_for_endpoints_without_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "no_such_thing")
    with exporting(Settings()):
        pass


@pytest.mark.parametrize(
    ("name", "value"),
    [("OTEL_BSP_MAX_QUEUE_SIZE", "-1"), ("OTEL_BSP_SCHEDULE_DELAY", "0")],
)
def test_a_wrong_value_of_opentelemetrys_is_the_users_mistake(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=r"^telemetry: OpenTelemetry's environment is wrong \("):
        provider_of_environment()


def test_a_collector_that_is_silent_holds_nobody_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        program = PROGRAM.replace("(True, False, True)", "(True,)")
        told = run(
            f"import sys; sys.stderr = sys.stdout\n{program}",
            OTEL_EXPORTER_OTLP_ENDPOINT=url,
            OTEL_EXPORTER_OTLP_TIMEOUT="600",  # longer than the test may take
        )
    assert "tmas: telemetry: spans couldn't be sent within 2 s. See whether the collector" in told
    assert told.endswith("left\n")


def test_a_run_that_wants_spans_says_before_it_asks_anything_that_it_cant_send_them(
    tmas: Tmas, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "no_such_thing")
    monkeypatch.setenv("TMAS_TELEMETRY", "true")
    done = tmas("solve", "What is 6·7?")
    assert done.code == 2
    assert "telemetry: OpenTelemetry is here without the exporter" in done.err
    assert scripted.requests == []
