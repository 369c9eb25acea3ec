import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.scripted import ScriptedServer
from inspect_ai.log import read_eval_log
from runs_made import folder, rows
from runs_on_script import problems_file

from tmas_graph.evaluation.run_rows import read

SMALL = Path(__file__).parents[1] / "cases" / "runs" / "small"
ONE = rows("tmas", {"gsm8k-test-0001": ["+a"]})


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_one_method_is_one_log_of_the_given_name(tmas: Tmas, place: Path) -> None:
    run = folder(place / "a", ONE, source={"name": "gsm8k"})
    done = tmas("export", str(run), "--inspect", "out.eval")
    assert (done.code, done.out, done.err) == (0, "out.eval\n", "")
    [sample] = read_eval_log("out.eval").samples or []
    assert (sample.id, sample.target) == ("gsm8k-test-0001", "18")
    assert "ducks" in str(sample.input)
    assert names(place) == ["a", "out.eval"]


def test_several_methods_are_several_logs(tmas: Tmas, place: Path) -> None:
    done = tmas("export", str(SMALL), "--inspect", "out.eval")
    assert done.out.splitlines() == [
        "out-self_consistency.eval",
        "out-tmas.eval",
        "out-self_refine.eval",
    ]
    assert read_eval_log("out-tmas.eval").eval.solver == "tmas_graph/tmas"
    assert names(place) == sorted(done.out.splitlines())


def test_a_method_with_settings_makes_a_plain_file_name(tmas: Tmas, place: Path) -> None:
    made = [*ONE, *rows("tmas[epsilon=0.5, seed=1]", {"gsm8k-test-0001": ["a"]})]
    tmas("export", str(folder(place / "a", made)), "--inspect", "out.eval")
    assert names(place) == ["a", "out-tmas-epsilon=0.5-seed=1.eval", "out-tmas.eval"]


def test_one_of_several_methods_can_be_chosen(tmas: Tmas, place: Path) -> None:
    done = tmas("export", str(SMALL), "--method", "tmas", "--jsonl", "t.jsonl", "--csv", "t.csv")
    assert done.out.splitlines() == ["t.csv", "t.jsonl"]
    records = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    assert {record["method"] for record in records} == {"tmas"}
    assert len(Path("t.csv").read_text().splitlines()) == 1 + len(records)
    said = tmas.mistake("export", str(SMALL), "--method", "tmsa", "--csv", "x.csv")
    assert "did you mean 'tmas'" in said


def test_a_run_without_its_data_set_shows_ids_and_says_so(tmas: Tmas, place: Path) -> None:
    run = folder(place / "a", ONE, source={"name": "/gone/own.jsonl", "keys": {"other": "x"}})
    done = tmas("export", str(run), "--inspect", "out.eval")
    assert done.code == 0
    [line] = done.err.splitlines()
    assert line.startswith("* samples show no texts: /gone/own.jsonl: there is no such file.")
    [sample] = read_eval_log("out.eval").samples or []
    assert sample.input == "gsm8k-test-0001"


def test_what_tmas_run_has_made_becomes_a_log(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    problems_file(place)
    ran = tmas("run", "problems.jsonl", "--method", "tmas", "--out", "a", "--limit", "2")
    assert ran.code == 0
    assert tmas("export", "a", "--inspect", "out.eval").out == "out.eval\n"
    log = read_eval_log("out.eval")
    assert (log.status, log.eval.solver) == ("success", "tmas_graph/tmas")
    found = {str(sample.id): sample for sample in log.samples or []}
    assert list(found) == ["p0", "p1"]
    assert str(found["p0"].input) in (place / "problems.jsonl").read_text()
    status = {row.problem: row.selected.status for row in read(place / "a" / "rows.jsonl").rows}
    for name, sample in found.items():
        assert sample.scores is not None
        assert sample.scores["grader"].metadata is not None
        assert sample.scores["grader"].metadata["status"] == status[name]
    calls = sum(int(sample.metadata["calls"]) for sample in found.values())
    assert calls == len(scripted.requests)


def test_fields_that_the_run_names_are_read(tmas: Tmas, place: Path) -> None:
    row = {"id": "gsm8k-test-0001", "text": "1 + 1?", "answer": "2"}
    (place / "own.jsonl").write_text(json.dumps(row))
    keys = {"problem_id": "id", "question": "text"}
    source = {"name": "gsm8k", "path": str(place / "own.jsonl"), "keys": keys}
    tmas("export", str(folder(place / "a", ONE, source=source)), "--inspect", "out.eval")
    [sample] = read_eval_log("out.eval").samples or []
    assert (sample.input, sample.target) == ("1 + 1?", "2")


def test_a_file_that_is_there_is_replaced_whole_or_stays(
    tmas: Tmas, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(folder(place / "a", ONE))
    (place / "out.eval").write_text("old")

    def full(*arguments: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tmas_graph.inspecting.logs.write_eval_log", full)
        assert "No space left" in tmas("export", run, "--inspect", "out.eval").err
    assert (place / "out.eval").read_text() == "old"
    assert tmas("export", run, "--inspect", "out.eval").code == 0
    assert read_eval_log("out.eval").status == "success"
    assert names(place) == ["a", "out.eval"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Give --inspect, --csv or --jsonl a file"),
        (("--inspect", "out.json"), "doesn't end in .eval"),
        (("--inspect", "no/out.eval"), "its folder doesn't exist"),
        (("--csv", "."), "is a folder"),
    ],
)
def test_mistakes_are_told_before_any_work(
    tmas: Tmas, place: Path, options: tuple[str, ...], said: str
) -> None:
    assert said in tmas.mistake("export", str(SMALL), *options)
    assert names(place) == []


def test_without_the_extra_the_message_says_how_to_get_it(place: Path) -> None:
    shutil.copytree(SMALL, place / "a")
    code = (
        "import sys; from importlib import util; found = util.find_spec;"
        "util.find_spec = lambda name, *a: None if name == 'inspect_ai' else found(name, *a);"
        "sys.argv = ['tmas', 'export', 'a', '--inspect', 'out.eval'];"
        "from tmas_graph.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=place)
    assert done.returncode == 2
    assert done.stderr == (
        'tmas: inspect_ai isn\'t installed. Run: pip install "tmas-graph[inspect]"\n'
    )
