"""What is wrong with the memory's settings is said in one line, before anything is paid for."""

import json
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer

from tmas_graph.configuration import with_keys
from tmas_graph.memory import served_embeddings
from tmas_graph.settings import Settings

KEY = "secret-key"
HERE = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}


def test_a_server_that_isnt_there(
    tmas: Tmas, scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_embeddings, "_LONGEST_PAUSE", 0.0)
    given = ("--set", "embeddings.base_url=http://127.0.0.1:9/v1", "--set", "embeddings.model=m")
    said = tmas.mistake("solve", "What?", *given)
    assert said.startswith("http://127.0.0.1:9/v1/embeddings: it can't be reached")
    said = tmas.mistake("solve", "What?", "--set", "memory_server=http://127.0.0.1:9")
    assert said.startswith("memory: no Chroma server answers at http://127.0.0.1:9 (")
    assert scripted.requests == []


def test_a_folder_without_a_model(tmas: Tmas, scripted: ScriptedServer) -> None:
    said = tmas.mistake("solve", "What?", "--set", "embeddings.folder=nowhere")
    assert said.startswith("embeddings: ")
    assert "nowhere is no folder" in said
    assert scripted.requests == []


def test_half_an_endpoint_is_refused(tmas: Tmas, scripted: ScriptedServer) -> None:
    said = tmas.mistake("solve", "What?", "--set", "embeddings.model=m")
    assert "base_url and model belong together" in said


def test_the_key_is_taken_from_the_environment_and_never_shown(
    tmas: Tmas, scripted: ScriptedServer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMAS_EMBEDDINGS__API_KEY", KEY)
    done = tmas("settings")
    assert done.code == 0
    assert KEY not in done.out + done.err
    assert tmas("solve", "What?", "--json").code == 0
    [thread] = json.loads(tmas("threads", "--json").out)
    assert KEY not in tmas("show", thread["thread"], "--json").out
    assert not any(KEY.encode() in path.read_bytes() for path in place.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({**HERE, "api_key": KEY}, KEY),
        ({"api_key": KEY}, KEY),
        ({**HERE, "base_url": "http://127.0.0.1:2/v1", "api_key": KEY}, ""),
    ],
)
def test_the_key_of_a_resume_goes_to_its_own_server_alone(
    keys: dict[str, str], expected: str
) -> None:
    stored, here = Settings.checked({"embeddings": HERE}), Settings.checked({"embeddings": keys})
    assert with_keys(stored, here).embeddings.key() == expected
