import socket
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.reasoner import Reasoner
from endpoints.scripted import server
from toy_run import prepared

from tmas_graph.cli.train_run import tools_of, tried
from tmas_graph.errors import SettingsError
from tmas_graph.grpo import metrics
from tmas_graph.grpo.metrics import Metrics
from tmas_graph.grpo.rows import Row
from tmas_graph.grpo.sampling import Served
from tmas_graph.grpo.server import Patience
from tmas_graph.grpo.settings_file import dump

SMALL = {"candidates": 3, "verifications": 1, "iterations": 2}


def problem(question: str, gold: str) -> Row:
    return Row(
        "normal", ({"role": "user", "content": question},), gold, "math", 0, question, question
    )


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_tmas_is_tried_with_the_served_policy(tmp_path: Path) -> None:
    with server(script=Reasoner(chance=1.0).short()) as endpoint:
        root = endpoint.base_url.removesuffix("/v1")
        settings = prepared(
            tmp_path, server={"url": root, "push": "disk"}, evaluation={"tmas_settings": SMALL}
        )
        rows = [problem("What is 6 · 7?", "42"), problem("What is 6 · 8?", "48")]
        rates = await tried(settings, Served("scripted", 3), rows)
        models = {request.body["model"] for request in endpoint.requests}
    assert models == {"scripted"}
    assert rates["failed"] == (0, 2)
    # The script says 42 whatever it is asked.
    for iteration in (0, 1):
        assert rates[f"pass@1/iteration_{iteration}"] == (3, 6)
        assert rates[f"selected/iteration_{iteration}"] == (1, 2)


def test_answers_are_graded_by_value(tmp_path: Path) -> None:
    grader = tools_of(prepared(tmp_path)).grader
    assert grader(r"so \boxed{0.5}", r"\frac12")
    assert not grader(r"so \boxed{0.51}", r"\frac12")


def test_a_wrong_setting_of_tmas_is_found_before_the_run(tmp_path: Path) -> None:
    settings = prepared(tmp_path, evaluation={"tmas_every": 5, "tmas_settings": {"candidtaes": 2}})
    with pytest.raises(SettingsError, match="candidtaes"):
        tools_of(settings)


def test_a_server_that_isnt_there_ends_the_run_with_one_line(
    tmas: Tmas, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Patience, "before", lambda *_: 0.0)  # between attempts
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    settings = prepared(place, server={"url": url, "push": "disk", "timeout_seconds": 5})
    (place / "run.toml").write_text(dump(settings))
    done = tmas("train", "run", "run.toml", "--set", "steps=2")
    assert done.code == 2
    assert f"tmas: {url}/v1/models: the connection failed" in done.err
    assert "Stopped after step 0; nothing is saved" in done.out.replace("\n", " ")
    assert "steps = 2" in (place / "run/settings.toml").read_text()
    assert metrics.read(place / "run") == []


def test_a_picture_is_drawn_beside_the_numbers(tmas: Tmas, place: Path) -> None:
    (place / "run").mkdir()
    Metrics(place / "run").log(1, "train", {"reward": 0.5, "length": 3.0})
    done = tmas("train", "plot", "run")
    assert (done.code, done.out.strip()) == (0, "run/training.png")
    assert (place / "run/training.png").stat().st_size > 1000
    assert tmas("train", "plot", "nowhere").code == 2


def test_a_judge_without_its_key_is_found_before_the_run(tmas: Tmas, place: Path) -> None:
    judge = {"base_url": "http://127.0.0.1:1/v1", "model": "m", "key_variable": "TMAS_NO_KEY"}
    settings = prepared(place, novelty={"judge": judge})
    (place / "run.toml").write_text(dump(settings))
    done = tmas("train", "run", "run.toml")
    assert done.code == 2
    assert "novelty.judge.key_variable: TMAS_NO_KEY isn't in the environment." in done.err
    assert not (place / "run").exists()
