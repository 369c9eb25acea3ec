import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from cli.conftest import Tmas
from endpoints.protocol import Request
from endpoints.scripted import ScriptedServer


def solved(tmas: Tmas, *arguments: str) -> Any:
    done = tmas("solve", "What is 6·7?", "--json", *arguments)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_thread_that_is_done_goes_on_with_more_iterations(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    thread = solved(tmas)["thread"]
    asked = len(scripted.requests)
    assert json.loads(tmas("resume", thread, "--json").out)["iterations"] == 1
    assert len(scripted.requests) == asked  # nothing to do
    told = json.loads(tmas("resume", thread, "-T", "3", "--json").out)
    assert told["iterations"] == 3
    assert scripted.repeated() == []
    assert told["usage"]["calls"] == len(scripted.requests)


def test_what_is_said_of_a_thread_in_another_folder_names_the_folder(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    said = tmas("solve", "What is 6·7?", "--home", "a b").out
    [line] = (line for line in said.splitlines() if "tmas show" in line)
    words = shlex.split(line.partition("tmas ")[2])
    assert words[2:] == ["--home", "a b"]
    calls = tmas(*words, "--calls")
    assert calls.code == 0
    assert "--home 'a b' --call ID" in calls.out
    said = tmas.mistake(*words, "--call", "zz")
    assert f"no call of {words[1]} has an id" in said
    assert f"`tmas show {words[1]} --home 'a b' --calls`" in said
    assert "--home" not in tmas("solve", "What is 6·7?").out


def test_a_thread_made_with_other_prompts_goes_on_only_when_told_to(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    (place / "mine").mkdir()
    template = place / "mine" / "summary.md"
    template.write_text("{% block user %}# Your task: summarise the checks{% endblock %}")
    thread = solved(tmas, "--set", "prompts_folder=mine")["thread"]
    template.write_text("{% block user %}# Your task: summarise the checks!{% endblock %}")
    said = tmas.mistake("resume", thread, "-T", "2")
    assert "these changed: the prompts summary. Undo that" in said
    assert "--accept-changes" in said
    assert tmas("resume", thread, "-T", "2", "--accept-changes").code == 0
    assert tmas("resume", thread, "-T", "3").code == 0  # accepted once, it is the thread's own


def test_a_thread_made_with_another_model_or_setting_goes_on_only_when_told_to(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    scripted.change(models=("scripted", "other"))
    thread = solved(tmas, "--model", "scripted")["thread"]
    said = tmas.mistake("resume", thread, "--model", "other", "--set", "candidates=3")
    assert "the solution model (scripted → other)" in said
    assert "candidates (2 → 3)" in said
    told = tmas("resume", thread, "-T", "2", "--model", "other", "--accept-changes", "--json")
    assert json.loads(told.out)["iterations"] == 2
    assert {r.body["model"] for r in scripted.requests[-4:]} == {"other"}


def test_a_wrong_change_is_the_users_mistake(tmas: Tmas, scripted: ScriptedServer) -> None:
    thread = solved(tmas)["thread"]
    assert "iterations: it should be less" in tmas.mistake("resume", thread, "-T", "5000")
    said = tmas.mistake("resume", thread, "--set", "iterations.x=3")
    assert "'iterations' has no parts" in said


def test_keys_are_neither_stored_nor_shown_and_are_read_anew(
    tmas: Tmas, scripted: ScriptedServer, place: Path, monkeypatch: Any
) -> None:
    scripted.change(key="s3cret")
    monkeypatch.setenv("TMAS_API_KEY", "s3cret")
    thread = solved(tmas)["thread"]
    shown = [tmas("show", thread), tmas("show", thread, "--json"), tmas("threads", "--json")]
    assert [done for done in shown if "s3cret" in done.out + done.err or done.code] == []
    stored = [p for p in (place / "home").rglob("*") if p.is_file() and b"s3cret" in p.read_bytes()]
    assert stored == []
    assert tmas("resume", thread, "-T", "2").code == 0
    monkeypatch.delenv("TMAS_API_KEY")
    assert "the key is refused" in tmas.mistake("resume", thread, "-T", "3")


def test_a_key_for_one_server_is_not_sent_to_the_threads_other_one(
    tmas: Tmas, scripted: ScriptedServer, monkeypatch: Any
) -> None:
    thread = solved(tmas)["thread"]
    monkeypatch.setenv("TMAS_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TMAS_API_KEY", "s3cret")
    monkeypatch.setenv("TMAS_ROLES__SUMMARY__API_KEY", "s3cret")
    assert tmas("resume", thread, "-T", "2").code == 0
    sent = {r.headers["authorization"] for r in scripted.requests}
    assert [value for value in sent if "s3cret" in value] == []


def test_ctrl_c_says_how_to_go_on_and_no_finished_call_is_made_again(
    tmas: Tmas, scripted: ScriptedServer
) -> None:
    waiting, released = threading.Event(), False

    def latency(request: Request) -> float:
        if request.agent != "verification" or released:
            return 0.0
        if len(scripted.asked("verification")) == 2:
            waiting.set()
        return 60.0

    scripted.change(latency=latency)
    command = [sys.executable, "-m", "tmas_graph", "solve", "What is 6·7?"]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    with running:
        assert waiting.wait(60)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    [said] = err.splitlines()
    assert said.startswith("tmas: interrupted; `tmas resume ")
    assert said.endswith("` goes on")
    released = True
    done = tmas(*said.split("`")[1].split()[1:], "--json")
    assert (done.code, done.err) == (0, "")
    assert len(scripted.asked("solution")) == 2
    assert {r.agent for r in scripted.repeated()} == {"verification"}
    assert sum(r.abandoned for r in scripted.requests) == len(scripted.repeated()) == 2
