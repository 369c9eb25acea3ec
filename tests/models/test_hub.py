import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tmas_graph.errors import EndpointDown, MissingExtra, SettingsError
from tmas_graph.models import hub
from tmas_graph.models.catalogue import no_progress

FILES = {
    "README.md": b"a model",
    "m-IQ4_XS.gguf": b"GGUF-iq4xs",
    "m-Q4_K_M.gguf": b"GGUF-q4km" * 1000,
    "m-Q8_0.gguf": b"GGUF-q8",
    "mmproj-m-Q8_0.gguf": b"GGUF-eyes",
    "big/b-Q6_K-00001-of-00002.gguf": b"GGUF-1",
    "big/b-Q6_K-00002-of-00002.gguf": b"GGUF-22",
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class ScriptedHub(ThreadingHTTPServer):
    """Gives what a download needs of the hub, for org/repo; org/gated needs a login."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: ScriptedHub

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append(path)
        name = path.partition("/org/repo/resolve/main/")[2]
        if path == "/api/models/org/repo":
            siblings = [{"rfilename": name} for name in FILES]
            self.answer(200, json.dumps({"id": "org/repo", "siblings": siblings}).encode())
        elif name in FILES:
            self.answer(200, FILES[name])
        elif "gated" in path:
            self.answer(403, b"{}", "GatedRepo")
        else:
            self.answer(404, b"{}", "RepoNotFound")

    do_HEAD = do_GET

    def answer(self, status: int, body: bytes, error: str = "") -> None:
        self.send_response(status)
        self.send_header("ETag", f'"{len(body)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("X-Error-Code", error)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ScriptedHub]:
    with ScriptedHub() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        (None, ("m-Q4_K_M.gguf",)),
        ("q8_0", ("m-Q8_0.gguf",)),
        ("IQ4_XS", ("m-IQ4_XS.gguf",)),
        ("Q4_XS", ()),
        ("Q4_K", ()),
        ("m-Q8_0.gguf", ("m-Q8_0.gguf",)),
        ("Q6_K", ("big/b-Q6_K-00001-of-00002.gguf", "big/b-Q6_K-00002-of-00002.gguf")),
        ("README.md", ()),
    ],
)
def test_the_file_is_picked_by_quant_or_name(wanted: str | None, chosen: tuple[str, ...]) -> None:
    assert hub.pick(FILES, wanted) == chosen


def test_without_the_usual_quant_the_first_file_is_picked() -> None:
    assert hub.pick(["b.gguf", "a-Q8_0.gguf", "notes.txt"], None) == ("a-Q8_0.gguf",)


def test_a_model_that_lacks_a_part_is_not_picked() -> None:
    assert hub.pick(["b-00001-of-00002.gguf"], None) == ()


@pytest.mark.parametrize("text", ["org/repo", "org/repo:Q4_K_M", "a.b/c-d_e:sub/file.gguf"])
def test_what_is_a_reference_to_the_hub(text: str) -> None:
    assert hub.REFERENCE.fullmatch(text)


@pytest.mark.parametrize("text", ["repo", "../repo", "org/..", "a/b/c", "org/repo:", "/org/repo"])
def test_what_is_no_reference_to_the_hub(text: str) -> None:
    assert not hub.REFERENCE.fullmatch(text)


def test_a_file_is_downloaded_with_progress_and_nothing_is_drawn(
    server: ScriptedHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[int, int | None]] = []
    path = hub.fetch("org/repo", tmp_path, lambda *report: seen.append(report), server.url)
    assert path == tmp_path / "org" / "repo" / "m-Q4_K_M.gguf"
    assert path.read_bytes() == FILES["m-Q4_K_M.gguf"]
    assert seen[-1] == (9000, 9000)
    assert capfd.readouterr() == ("", "")


def test_a_file_that_is_here_is_used_without_asking_the_hub(
    server: ScriptedHub, tmp_path: Path
) -> None:
    path = hub.fetch("org/repo", tmp_path, no_progress, server.url)
    asked = len(server.asked)
    assert hub.fetch("org/repo:Q4_K_M", tmp_path, no_progress, server.url) == path
    assert len(server.asked) == asked


def test_all_parts_of_a_model_are_downloaded(server: ScriptedHub, tmp_path: Path) -> None:
    path = hub.fetch("org/repo:Q6_K", tmp_path, no_progress, server.url)
    assert path.name == "b-Q6_K-00001-of-00002.gguf"
    assert path.read_bytes() == b"GGUF-1"
    assert path.with_name("b-Q6_K-00002-of-00002.gguf").read_bytes() == b"GGUF-22"


def test_an_unknown_quant_names_the_files_there_are(server: ScriptedHub, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"org/repo:Q2_K: no such GGUF file \(there are big/"):
        hub.fetch("org/repo:Q2_K", tmp_path, no_progress, server.url)


def test_an_unknown_repository_is_said(server: ScriptedHub, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no public repository org/other"):
        hub.fetch("org/other", tmp_path, no_progress, server.url)


def test_a_gated_repository_asks_for_a_login(server: ScriptedHub, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="asks for a login"):
        hub.fetch("org/gated", tmp_path, no_progress, server.url)


def test_a_hub_that_is_away_is_an_endpoint_down(tmp_path: Path) -> None:
    with ScriptedHub() as gone:
        url = gone.url
    with pytest.raises(EndpointDown, match="--local-model PATH"):
        hub.fetch("org/repo", tmp_path, no_progress, url)


def test_without_the_hubs_client_the_install_line_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r'pip install "tmas-graph\[local\]"'):
        hub.fetch("org/repo", tmp_path, no_progress)
