"""Runs as logs of inspect's: read back, and opened by `inspect view`."""

import json
import socket
import subprocess
import sys
import urllib.parse
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx2
from inspect_ai.event import event_tree
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from runs_made import folder, row, rows

from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.run_rows import Row, Selected
from tmas_graph.evaluation.tracks import Track
from tmas_graph.evaluation.uniting import MethodRun, load, unite
from tmas_graph.inspecting.logs import Export
from tmas_graph.state import Problem
from tmas_graph.usage import Usage

SMALL = Path(__file__).parents[1] / "cases" / "runs" / "small"
BEGAN = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)


def method_of(path: Path, name: str = "tmas") -> MethodRun:
    return unite([load(path)]).methods[name]


def written(path: Path, run: MethodRun, problems: Dataset | None = None) -> EvalLog:
    file = path / "out.eval"
    Export(run, "runs/a", BEGAN, problems).write(file)
    return read_eval_log(str(file))


def samples(log: EvalLog) -> dict[str, EvalSample]:
    assert log.samples is not None
    return {str(sample.id): sample for sample in log.samples}


def test_it_says_what_was_run_and_with_what(tmp_path: Path) -> None:
    log = written(tmp_path, method_of(SMALL))
    assert log.status == "success"
    assert (log.eval.task, log.eval.task_version) == ("tmas_graph/imo-answerbench", "v2")
    assert (log.eval.solver, log.eval.model) == ("tmas_graph/tmas", "Qwen/Qwen3-4B-Thinking-2507")
    assert log.eval.solver_args == dict(method_of(SMALL).settings)
    assert log.eval.dataset.sample_ids == ["p1", "p2", "p3", "p4", "p5"]
    assert log.eval.created.startswith("2026-05-01T12:30:00")
    assert log.eval.metadata is not None
    assert log.eval.metadata["prompts"] == {"solution_initial": "ab"}


def test_its_figures_are_those_of_the_comparison(tmp_path: Path) -> None:
    run = method_of(SMALL)
    log = written(tmp_path, run)
    assert log.results is not None
    track = Track(run)
    found = {
        (s.scorer, s.name): {k: m.value for k, m in s.metrics.items()} for s in log.results.scores
    }
    final = track.at(2).selected
    assert found.pop(("grader", "grader")) == {
        "accuracy": final.value,
        "stderr": final.standard_error,
    }
    expected = {}
    for t in track.iterations:
        for name, figure in (("pass@1", track.at(t).pass_at_1), ("selected", track.at(t).selected)):
            expected[name, str(t)] = {"mean": figure.value, "stderr": figure.standard_error}
    assert found == expected
    assert log.results.metadata == {"notes": track.notes()}


def test_a_sample_has_its_scores_by_iteration(tmp_path: Path) -> None:
    run = method_of(folder(tmp_path / "a", rows("tmas", {"p1": ["+a", "++"], "p2": ["ab", "a?"]})))
    found = samples(written(tmp_path, run))
    scores = found["p1"].scores
    assert scores is not None
    assert (scores["grader"].value, scores["grader"].answer) == ("C", "+")
    assert scores["pass@1"].value == {"0": 0.5, "1": 1.0}
    assert scores["selected"].value == {"0": 1.0, "1": 1.0}
    assert r"\boxed{+}" in found["p1"].output.completion


def test_a_problem_that_ended_early_keeps_its_standing(tmp_path: Path) -> None:
    made = rows("tmas", {"p1": ["+a"], "p2": ["ab", "a?"]})
    scores = samples(written(tmp_path, method_of(folder(tmp_path / "a", made))))["p1"].scores
    assert scores is not None
    assert scores["pass@1"].value == {"0": 0.5, "1": 0.5}


def test_unsure_is_told_apart_from_wrong(tmp_path: Path) -> None:
    made = rows("tmas", {"p1": ["?a"], "p2": ["a?"], "p3": ["~+"]})
    log = written(tmp_path, method_of(folder(tmp_path / "a", made)))
    values = {name: s.scores and s.scores["grader"].value for name, s in samples(log).items()}
    assert values == {"p1": "U", "p2": "I", "p3": "N"}
    assert log.results is not None
    assert log.results.scores[0].metadata == {"unsure": 1, "error": 0}


def test_usage_is_by_model_and_role(tmp_path: Path) -> None:
    spend = {
        "solution": Usage(2, 100, 50, 30, 40, cost=0.25),
        "verification": Usage(4, 10, 5),
    }
    made = [row("p1", "tmas", t, "+a", spend=spend) for t in range(2)]
    log = written(tmp_path, method_of(folder(tmp_path / "a", made)))
    sample = samples(log)["p1"]
    [total] = sample.model_usage.values()
    assert (total.input_tokens, total.input_tokens_cache_read) == (140, 80)
    assert (total.output_tokens, total.reasoning_tokens) == (110, 60)
    assert (total.total_tokens, total.total_cost) == (330, 0.5)
    assert sample.role_usage["verification"].total_tokens == 30
    assert log.stats.model_usage == sample.model_usage
    assert log.stats.role_usage == sample.role_usage
    assert sample.total_time == 4.0


def test_a_failed_problem_is_an_error_with_its_cause(tmp_path: Path) -> None:
    failed = row(
        "p2",
        "tmas",
        0,
        "",
        selected=Selected(None, "error", 0),
        outcome="failed",
        cause="it is down",
    )
    made = [*rows("tmas", {"p1": ["+"]}), failed]
    log = written(tmp_path, method_of(folder(tmp_path / "a", made)))
    error = samples(log)["p2"].error
    assert error is not None
    assert error.message == "it is down"
    assert log.results is not None
    assert (log.results.total_samples, log.results.completed_samples) == (2, 1)
    assert log.status == "success"


def test_a_run_that_is_not_done_is_not_called_a_success(tmp_path: Path) -> None:
    open_ended = [row("p1", "tmas", 0, "+a"), *rows("tmas", {"p2": ["+"]})]
    assert written(tmp_path, method_of(folder(tmp_path / "a", open_ended))).status == "cancelled"
    missing = folder(tmp_path / "b", rows("tmas", {"p2": ["+"]}), problems=["p1", "p2"])
    assert written(tmp_path, method_of(missing)).status == "cancelled"


def test_texts_and_gold_answers_come_from_the_data_set(tmp_path: Path) -> None:
    known = Dataset("own", "1", (Problem("What is 6 · 7?", "p1"),), {"p1": "42"})
    run = method_of(folder(tmp_path / "a", rows("tmas", {"p1": ["+"], "p2": ["a"]})))
    found = samples(written(tmp_path, run, known))
    assert (found["p1"].input, found["p1"].target) == ("What is 6 · 7?", "42")
    assert (found["p2"].input, found["p2"].target) == ("p2", "")


def test_the_transcript_has_every_row_in_the_span_of_its_iteration(tmp_path: Path) -> None:
    sample = samples(written(tmp_path, method_of(SMALL)))["p1"]
    found = event_tree(sample.events)
    assert [span.name for span in found] == ["iteration 0", "iteration 1", "iteration 2"]  # type: ignore[union-attr]
    inner = [event for span in found for event in span.children]  # type: ignore[union-attr]
    lines = [json.loads(line) for line in (SMALL / "rows.jsonl").read_text().splitlines()]
    expected = [r for r in lines if (r["problem"], r["method"]) == ("p1", "tmas")]
    assert [event.data for event in inner] == expected
    assert sample.store["tmas"]["rows"] == expected


def test_any_text_of_a_model_comes_back(tmp_path: Path) -> None:
    odd = "\u2028 \x00 \U0001f600 </script> \\boxed{}"
    first = rows("tmas", {"p 1/../ü": ["+"]})[0]
    made: list[Row] = [
        Row(
            **{
                **{n: getattr(first, n) for n in first.__dataclass_fields__},
                "selected": Selected(odd, "incorrect", 1.0),
            }
        )
    ]
    [(name, sample)] = samples(written(tmp_path, method_of(folder(tmp_path / "a", made)))).items()
    assert name == "p 1/../ü"
    assert sample.scores is not None
    assert sample.scores["grader"].answer == odd


def test_the_file_is_a_zip_with_a_part_for_each_sample(tmp_path: Path) -> None:
    written(tmp_path, method_of(SMALL))
    with zipfile.ZipFile(tmp_path / "out.eval") as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert {"header.json", "summaries.json"} <= set(names)
    assert sum(name.startswith("samples/") for name in names) == 5


@contextmanager
def viewer(logs: Path) -> Iterator[httpx2.Client]:
    """A client of an `inspect view` of a folder, on a free port."""
    command = [Path(sys.executable).with_name("inspect"), "view", "start", "--log-dir", logs]
    port = free_port()
    with (logs / "view.out").open("w") as out:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], stdout=out, stderr=out
        )
    try:
        transport = httpx2.HTTPTransport(retries=0)
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", transport=transport) as client:
            wait_for(client, process, logs / "view.out")
            yield client
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(client: httpx2.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until it serves; the test's own limit ends it."""
    while True:
        assert process.poll() is None, log.read_text()
        try:
            client.get("/")
        except httpx2.ConnectError:
            continue
        return


def test_inspect_view_opens_it(tmp_path: Path) -> None:
    written(tmp_path, method_of(SMALL))
    with viewer(tmp_path) as client:
        assert "<html" in client.get("/").text.lower()
        [listed] = client.get("/api/log-files").json()["files"]
        name = urllib.parse.quote(listed["name"], safe="")
        header = client.get(f"/api/logs/{name}", params={"header-only": 1}).json()
        assert (header["status"], header["eval"]["solver"]) == ("success", "tmas_graph/tmas")
        size = client.get(f"/api/log-size/{name}").json()
        whole = client.get(f"/api/log-bytes/{name}", params={"start": 0, "end": size - 1}).content
    assert whole == (tmp_path / "out.eval").read_bytes()
