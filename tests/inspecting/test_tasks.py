"""The data sets as tasks, found by inspect's own command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from endpoints.reasoner import Reasoner
from endpoints.scripted import server
from inspect_ai.log import list_eval_logs, read_eval_log

from tmas_graph.errors import ProblemError
from tmas_graph.evaluation.datasets import SOURCES, load
from tmas_graph.inspecting.tasks import TASKS, problems, samples

INSPECT = Path(sys.executable).with_name("inspect")


def test_every_data_set_is_a_task_of_its_own_name() -> None:
    assert list(TASKS) == list(SOURCES)
    task = TASKS["gsm8k"](limit=3)
    known = load("gsm8k")
    assert [sample.id for sample in task.dataset] == [p.id for p in known.problems[:3]]
    assert [sample.target for sample in task.dataset] == [
        known.golds[p.id] for p in known.problems[:3]
    ]
    assert task.dataset.name == "gsm8k"
    assert task.metadata == {"version": known.version}


def test_any_file_of_problems_is_a_task(tmp_path: Path) -> None:
    rows = [{"problem_id": "a", "question": "1 + 1?", "answer": "2"}]
    rows += [{"problem_id": "b", "question": "Prove it.", "answer": ""}]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = samples(load(str(tmp_path / "own.jsonl")))
    assert [(s.id, s.input, s.target) for s in found] == [
        ("a", "1 + 1?", "2"),
        ("b", "Prove it.", ""),
    ]
    assert len(problems(str(tmp_path / "own.jsonl"), limit=1).dataset) == 1


def test_an_unknown_data_set_says_which_there_are() -> None:
    with pytest.raises(ProblemError, match="did you mean 'gsm8k'"):
        problems("gsm8")


def test_inspects_command_line_finds_tasks_and_solvers(tmp_path: Path) -> None:
    environment = {n: v for n, v in os.environ.items() if not n.startswith(("TMAS_", "INSPECT_"))}
    command = [INSPECT, "eval", "tmas_graph/gsm8k", "--solver", "tmas_graph/tmas"]
    options = ["-T", "limit=2", "-S", "candidates=2", "-S", "verifications=1", "-S", "iterations=1"]
    model = ["--model", "openai-api/scripted/scripted", "--display", "none", "--log-dir", "logs"]
    with server(script=Reasoner(right="18", chance=1.0).short()) as endpoint:
        environment |= {"SCRIPTED_API_KEY": "k", "SCRIPTED_BASE_URL": endpoint.base_url}
        done = subprocess.run(
            [*command, *options, *model],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(endpoint.requests) == 2 * (2 * (1 + 1 + 1) + 2)
    [written] = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(written)
    assert (log.status, log.eval.task, log.eval.solver) == (
        "success",
        "tmas_graph/gsm8k",
        "tmas_graph/tmas",
    )
    assert log.results is not None
    grades = {name: m.value for name, m in log.results.scores[0].metrics.items()}
    assert (grades["accuracy"], grades["correct"], grades["incorrect"]) == (0.5, 1, 1)
