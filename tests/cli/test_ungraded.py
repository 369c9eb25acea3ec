"""What is said of problems without a gold answer, and of candidates that were cut off."""

import json
from pathlib import Path

import pytest
from cli.conftest import Tmas
from endpoints.protocol import ScriptedReply
from endpoints.scripted import ScriptedServer
from inspect_ai.log import read_eval_log
from runs_made import folder, rows

RUN = ("run", "own.jsonl", "--method", "chain-of-thought,self-consistency", "--out", "a")
NOTE = "2 of 3 problems have no gold answer (field 'answer'; --answer-key names another)"


def write(place: Path, *answers: object) -> None:
    made = [{"problem_id": f"p{i}", "question": f"{i}?"} for i in range(len(answers))]
    golds = [{"answer": a} if a is not None else {"gold": "42"} for a in answers]
    lines = [json.dumps(row | gold) for row, gold in zip(made, golds, strict=True)]
    (place / "own.jsonl").write_text("\n".join(lines))


def test_accuracy_is_over_the_problems_with_a_gold_answer(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    write(place, "42", None, None)
    scripted.change(script=lambda request, choice: r"\boxed{42}")
    done = tmas(*RUN)
    assert done.err == f"tmas: {NOTE}: accuracy is over the others\n"
    assert f"\n{NOTE}" in done.out
    assert done.out.count("100.0%") == 2
    said = json.loads(tmas("run", "--resume", "a", "--json").out)["methods"]["chain-of-thought"]
    assert (said["accuracy"], said["graded"], said["done"]) == (1.0, 1, 3)
    assert said["statuses"] == {"correct": 1, "ungraded": 2}
    done = tmas("compare", "a", "--format", "json")
    made = json.loads(done.out)
    assert {entry["selected"] for entry in made["entries"]} == {1.0}
    assert {entry["problems"] for entry in made["entries"]} == {1}
    assert (
        "chain-of-thought: 2 problems (p1, p2): no gold answer, and isn't counted"
        in (made["notes"])
    )
    assert tmas("compare", "a", "--paper").code == 0
    assert tmas("export", "a", "--inspect", "a.eval", "--method", "self-consistency").code == 0
    log = read_eval_log("a.eval")
    assert log.results is not None
    [grader] = [score for score in log.results.scores if score.name == "grader"]
    assert grader.metrics["accuracy"].value == 1.0
    assert (grader.scored_samples, grader.unscored_samples) == (1, 2)


def test_without_any_gold_answer_there_is_no_accuracy(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    write(place, None, None)
    done = tmas(*RUN)
    assert "2 of 2 problems have no gold answer" in done.err
    assert "accuracy is not known" in done.out
    assert "%" not in done.out
    assert "none of the problems of chain-of-thought has a gold answer" in tmas.mistake(
        *("compare", "a")
    )
    assert tmas("export", "a", "--inspect", "a.eval", "--method", "self-consistency").code == 0


def test_an_empty_answer_without_a_gold_one_is_not_wrong(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    write(place, "42", None)
    scripted.change(script=lambda request, choice: "I don't know.")
    tmas(*RUN)
    said = json.loads(tmas("run", "--resume", "a", "--json").out)["methods"]
    assert said["chain-of-thought"]["statuses"] == {"unanswered": 1, "ungraded": 1}


@pytest.mark.parametrize("gold", ["NaN", "Infinity", "true"])
def test_what_is_no_number_is_no_gold_answer(tmas: Tmas, place: Path, gold: str) -> None:
    row = f'{{"problem_id": "p", "question": "?", "answer": {gold}}}'
    (place / "own.jsonl").write_text(row)
    assert 'own.jsonl:1: "answer" is ' in tmas.mistake("run", "own.jsonl")


def test_candidates_that_were_cut_off_are_told_with_what_to_do(
    tmas: Tmas, scripted: ScriptedServer, place: Path
) -> None:
    write(place, "42", "42")
    scripted.change(script=lambda r, c: ScriptedReply(text="Hm", finish_reason="length"))
    out = tmas(*RUN, "--set", "max_tokens=32").out
    assert (
        "self-consistency: 4 of 4 candidates were cut off at max_tokens=32; in another run, raise "
        "it with --set max_tokens=…\n"
    ) in out
    shown = tmas("compare", "a").out
    assert "* chain-of-thought: 2 of 2 candidates were cut off at max_tokens=32" in shown


def test_one_method_alone_has_its_tables(tmas: Tmas, place: Path) -> None:
    made = rows("debate", {"p1": ["aa", "+a"], "p2": ["ab", "ab"]})
    planned = {name: {"model": "tiny"} for name in ("debate", "rse")}
    folder(place / "a", made, methods=planned)
    out = tmas("compare", "a").out
    assert "At equal iterations: accuracy" in out
    assert "At equal iterations: difference" not in out
    assert "* rse has no rows yet" in out
    assert "--base: rse has no rows yet." in tmas.mistake("compare", "a", "--base", "rse")
    for form in ("markdown", "csv", "latex", "json"):
        assert tmas("compare", "a", "--format", form).code == 0
    assert tmas("compare", "a", "--plot", "a.svg").err == "wrote a.svg\n"
