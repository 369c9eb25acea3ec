import csv
import io
import json
from dataclasses import replace

from runs_made import row, rows

from tmas_graph.evaluation.exporting import FIELDS, as_csv, as_jsonl
from tmas_graph.evaluation.run_rows import Row, Selected

MADE = rows("tmas", {"p1": ["+a", "~+"]})
FAILED = row("p2", "tmas", 0, "", outcome="failed", cause="it is down")


def answered(text: str) -> Row:
    first = MADE[0]
    attempts = (replace(first.attempts[0], answer=text),)
    return replace(first, attempts=attempts, selected=Selected(text, "incorrect", 1.0))


def test_every_candidate_is_a_line() -> None:
    found = [json.loads(line) for line in as_jsonl(MADE).splitlines()]
    assert [list(record) for record in found] == [list(FIELDS)] * 4
    shown = [(r["iteration"], r["index"], r["status"], r["selected_status"]) for r in found]
    assert shown == [
        (0, 0, "correct", "correct"),
        (0, 1, "incorrect", "correct"),
        (1, 0, "truncated", "truncated"),
        (1, 1, "correct", "truncated"),
    ]
    assert {(r["calls"], r["tokens"], r["seconds"]) for r in found} == {(2, 200, 2.0)}
    assert [r["stop"] for r in found] == [None, None, "iterations", "iterations"]


def test_an_iteration_without_candidates_is_a_line_too() -> None:
    [record] = [json.loads(line) for line in as_jsonl([FAILED]).splitlines()]
    assert (record["index"], record["status"]) == (None, None)
    assert (record["row_outcome"], record["cause"]) == ("failed", "it is down")


def test_the_table_has_the_same_records_with_what_is_unknown_empty() -> None:
    table = list(csv.DictReader(io.StringIO(as_csv([*MADE, FAILED]))))
    assert list(table[0]) == list(FIELDS)
    assert [line["status"] for line in table] == [
        *("correct", "incorrect", "truncated", "correct", ""),
    ]
    assert table[2]["answer"] == ""


def test_a_spreadsheet_takes_no_answer_for_a_formula() -> None:
    [line] = csv.DictReader(io.StringIO(as_csv([answered('=HYPERLINK("http://a.example")')])))
    assert line["answer"] == '\'=HYPERLINK("http://a.example")'
    [line] = csv.DictReader(io.StringIO(as_csv([answered('1,\n"2"')])))
    assert line["answer"] == '1,\n"2"'


def test_scores_below_zero_stay_numbers() -> None:
    made = replace(MADE[0], attempts=(replace(MADE[0].attempts[0], score=-0.5),))
    [line] = csv.DictReader(io.StringIO(as_csv([made])))
    assert line["score"] == "-0.5"
