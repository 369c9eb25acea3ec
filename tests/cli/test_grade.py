import json

import pytest
import typer
from typer.testing import CliRunner

from tmas_graph.cli.commands import app
from tmas_graph.cli.grade import read_cases
from tmas_graph.errors import ProblemError

runner = CliRunner()


def write(path, *lines):
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


CASES = (
    '{"id": "a", "kind": "integer", "pred": "4", "gold": "4.0", "expected": true}',
    "",
    '{"id": "b", "kind": "words", "pred": "odd n", "gold": "4", "expected": false}',
)


def test_a_pair_is_explained_step_by_step():
    ran = runner.invoke(app, ["grade", r"\boxed{\sqrt{8}}", r"2\sqrt{2}"])
    assert ran.exit_code == 0, ran.output
    assert "1. the prediction declares" in ran.output
    assert "gold read as the value" in ran.output
    assert ran.output.splitlines()[-1].startswith("correct: ")


def test_a_negative_number_can_be_given():
    assert (
        runner.invoke(app, ["grade", "--", "-5", "-5"])
        .output.splitlines()[-1]
        .startswith("correct")
    )


def test_a_file_is_shown_by_kind(tmp_path):
    ran = runner.invoke(app, ["grade", "--file", write(tmp_path / "cases.jsonl", *CASES)])
    assert ran.exit_code == 0, ran.output
    assert "integer" in ran.output
    assert "2/2" in ran.output


def test_a_file_gives_one_json_row_a_case(tmp_path):
    ran = runner.invoke(app, ["grade", "--json", "--file", write(tmp_path / "cases.jsonl", *CASES)])
    found = [json.loads(line) for line in ran.output.splitlines()]
    assert [(row["id"], row["verdict"]) for row in found] == [("a", "correct"), ("b", "unsure")]
    assert set(found[0]) == {"id", "verdict", "cause", "milliseconds"}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "cases.jsonl:2: not JSON"),
        ("[1]", "cases.jsonl:2: a list, not an object"),
        ('{"pred": "1"}', 'cases.jsonl:2: no text "gold" (keys: pred)'),
        ('{"pred": 1, "gold": "1"}', 'cases.jsonl:2: no text "pred" (1)'),
        ('{"pred": "1", "gold": "1", "expected": "yes"}', "Write true or false"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    file = write(tmp_path / "cases.jsonl", CASES[0], line)
    ran = runner.invoke(app, ["grade", "--file", file])
    assert isinstance(ran.exception, ProblemError)
    assert message in str(ran.exception)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ProblemError, match="nowhere"):
        list(read_cases(tmp_path / "nowhere"))


def test_a_pair_and_a_file_exclude_each_other(tmp_path):
    ran = runner.invoke(app, ["grade", "1", "--file", write(tmp_path / "cases.jsonl", *CASES)])
    assert ran.exit_code == typer.BadParameter("").exit_code


def test_the_judge_is_asked_where_rules_are_unsure(tmas, scripted):
    scripted.change(script=lambda request, context: r"Both odd. \boxed{yes}")
    done = tmas("grade", "odd n", "all odd numbers", "--judge", "--question", "Which n?")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-2].startswith("unsure: ")
    assert done.out.splitlines()[-1] == "judge: correct: Both odd."
    assert "Which n?" in scripted.requests[-1].text


def test_a_file_keeps_the_judge_apart_from_the_rules(tmas, scripted, tmp_path):
    scripted.change(script=lambda request, context: r"\boxed{no}")
    file = write(tmp_path / "cases.jsonl", *CASES)
    rows = [
        json.loads(line)
        for line in tmas("grade", "--json", "--judge", "--file", file).out.splitlines()
    ]
    assert [(row["verdict"], row.get("judge")) for row in rows] == [
        ("correct", None), ("unsure", "incorrect")
    ]  # fmt: skip
    assert (
        "judge, of 1 unsure cases: 0 correct, 1 incorrect"
        in tmas("grade", "--judge", "--file", file).out
    )
