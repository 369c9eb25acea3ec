import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tmas_graph.errors import EndpointDown, MissingExtra, SettingsError
from tmas_graph.models import local, weights
from tmas_graph.models.local import ServerOptions, serve, start, stop

FAKE_XLLAMACPP = '''
"""Stands in for xllamacpp: a server that tells how it was started, from the file it is given."""
import http.server, json, os, sys, threading, types

class CommonParams(types.SimpleNamespace):
    def __init__(self):
        super().__init__(model=types.SimpleNamespace(), cpuparams=types.SimpleNamespace())

class Server:
    def __init__(self, params):
        print("chatter on the standard output")
        print("0.00.001.002 I srv    load_model: loading", file=sys.stderr)
        plan = open(params.model.path, "rb").read()[4:].decode().split()
        if plan[:1] == ["wait"]:
            open(plan[1]).read()  # a FIFO: until someone writes
        if plan[:1] == ["abort"]:
            os.abort()
        if plan[:1] == ["refuse"]:
            print("0.00.002.123 E llama_model_load: error loading model: no such architecture",
                  file=sys.stderr)
            raise RuntimeError("Failed to init server, please check the input params.")
        if plan[:1] == ["hold"]:
            import fcntl
            self.held = open(plan[1], "w")
            fcntl.flock(self.held, fcntl.LOCK_EX)
        told = vars(params) | {
            "model": vars(params.model), "cpuparams": vars(params.cpuparams),
            "model_alias": sorted(params.model_alias), "pid": os.getpid(),
            "default_generation_settings": {"n_ctx": min(params.n_ctx // params.n_parallel, 8192)},
        }

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode())

            def log_message(self, *args):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_address[1]}"
'''


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the servers of a test run on the stand-in, and stop them after it."""
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text(FAKE_XLLAMACPP)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    yield
    stop()


def gguf(folder: Path, plan: str = "", name: str = "tiny.gguf") -> str:
    path = folder / name
    path.write_bytes(b"GGUF" + plan.encode())
    return str(path)


def props(server: local.LocalServer) -> dict[str, Any]:
    with urllib.request.urlopen(server.base_url.removesuffix("/v1") + "/props") as response:
        told: dict[str, Any] = json.load(response)
        return told


@pytest.mark.usefixtures("fake")
def test_a_server_runs_as_its_options_say(tmp_path: Path) -> None:
    server = start(gguf(tmp_path), ServerOptions(slots=3, context=1000, threads=2, cache_mib=64))
    assert (server.model, server.context, server.slots) == ("tiny", 1000, 3)
    told = props(server)
    assert (told["n_parallel"], told["n_ctx"]) == (3, 3000)
    assert told["cpuparams"]["n_threads"] == 2
    assert told["cache_ram_mib"] == 64
    assert told["model_alias"] == ["tiny"]
    assert told["cors_origins"] == "http://127.0.0.1"


@pytest.mark.usefixtures("fake")
def test_a_processor_is_left_free_where_there_are_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for usable, threads in ((8, 7), (2, 1), (1, 1)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, n=usable: range(n))
        server = start(gguf(tmp_path, name=f"{usable}.gguf"))
        assert props(server)["cpuparams"]["n_threads"] == threads


@pytest.mark.usefixtures("fake")
def test_the_context_is_what_the_server_says_not_what_was_asked(tmp_path: Path) -> None:
    assert start(gguf(tmp_path), ServerOptions(context=100_000)).context == 8192


@pytest.mark.usefixtures("fake")
def test_a_server_is_started_once_for_equal_options(tmp_path: Path) -> None:
    path = gguf(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        servers = {job.result() for job in [pool.submit(start, path) for _ in range(4)]}
    assert len(servers) == 1
    assert start(path, ServerOptions(slots=2)) not in servers
    assert start(gguf(tmp_path, name="other.gguf")) not in servers


@pytest.mark.usefixtures("fake")
def test_the_event_loop_runs_while_a_model_loads(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)

    async def main() -> local.LocalServer:
        serving = asyncio.create_task(serve(gguf(tmp_path, f"wait {gate}")))
        await asyncio.to_thread(gate.write_text, "go")  # the server loads until this is read
        return await serving

    assert asyncio.run(main()).model == "tiny"


@pytest.mark.usefixtures("fake")
def test_a_server_that_died_is_started_anew(tmp_path: Path) -> None:
    path = gguf(tmp_path)
    died = start(path)
    os.kill(props(died)["pid"], signal.SIGKILL)
    next(iter(local._running.values())).process.wait()
    server = start(path)
    assert server.base_url != died.base_url
    assert props(server)["pid"]


@pytest.mark.usefixtures("fake")
def test_a_stopped_server_is_gone(tmp_path: Path) -> None:
    server = start(gguf(tmp_path))
    stop()
    with pytest.raises(urllib.error.URLError):
        props(server)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("ending", ["raise SystemExit", "os.kill(os.getpid(), 9)"])
def test_a_server_never_outlives_the_process_that_started_it(tmp_path: Path, ending: str) -> None:
    held = tmp_path / "held"
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(local.__file__).parents[2])!r})
from tmas_graph.models.local import start
start({gguf(tmp_path, f"hold {held}")!r})
{ending}
"""
    subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # given once the server's process has ended


@pytest.mark.usefixtures("fake")
def test_nothing_of_the_server_reaches_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    start(gguf(tmp_path))
    stop()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("fake")
def test_a_model_that_cant_be_loaded_gives_llama_cpps_reason(tmp_path: Path) -> None:
    path = gguf(tmp_path, "refuse")
    with pytest.raises(EndpointDown, match=r"tiny.gguf: .*\(.*no such architecture\)\. Check"):
        start(path)
    assert not local._running


@pytest.mark.usefixtures("fake")
def test_a_model_that_aborts_llama_cpp_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(EndpointDown, match=r"could not serve it \(.+\)"):
        start(gguf(tmp_path, "abort"))


def test_a_missing_xllamacpp_is_said_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r'pip install "tmas-graph\[local\]"'):
        start(folder=tmp_path / "models")
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("field", ["slots", "context", "threads"])
def test_options_that_nothing_can_run_with_are_refused(field: str) -> None:
    with pytest.raises(SettingsError, match=f"{field}: 0 is below 1"):
        ServerOptions(**{field: 0})


@pytest.mark.local_model
def test_the_default_model_is_fetched_served_and_answers(capfd: pytest.CaptureFixture[str]) -> None:
    server = asyncio.run(serve(options=ServerOptions(slots=2, context=1024)))
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": "Say hello."}],
        "max_tokens": 16,
        "n": 2,
    }
    request = urllib.request.Request(
        f"{server.base_url}/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)
    stop()
    assert (server.model, server.context) == (weights.DEFAULT_MODEL, 1024)
    assert all(choice["message"]["content"] for choice in answer["choices"])
    assert len(answer["choices"]) == 2
    assert capfd.readouterr() == ("", "")
