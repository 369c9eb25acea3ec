import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.errors import StorageError
from tmas_graph.evaluation import run_rows
from tmas_graph.evaluation.run_rows import GradedAttempt, Row, Selected
from tmas_graph.usage import Usage

ROW = Row(
    problem="p-1",
    method="tmas",
    iteration=0,
    attempts=(GradedAttempt(0, "initial", "finished", "1/2", 0.75, "correct", 0),),
    selected=Selected("1/2", "correct", 1.0),
    spend={"solution": Usage(calls=1, prompt_tokens=10, completion_tokens=90, cost=0.5)},
    depth=3,
    seconds=1.5,
)
names = st.text(min_size=1).filter(lambda text: text.strip())
amounts = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
counts = st.integers(min_value=0, max_value=10**12)
statuses = st.sampled_from(
    ["correct", "incorrect", "unsure", "error", "unanswered", "truncated"],
)
usages = st.builds(Usage, counts, counts, counts, counts, counts, counts, amounts)
attempts = st.builds(
    GradedAttempt,
    index=counts,
    mode=st.sampled_from(["initial", "exploit", "explore"]),
    outcome=st.sampled_from(["finished", "truncated", "failed"]),
    answer=st.none() | st.text(),
    score=st.none() | st.floats(0, 1),
    status=statuses,
    answer_class=st.none() | st.integers(-5, 10**6),
)
rows = st.builds(
    Row,
    problem=names,
    method=names,
    iteration=counts,
    attempts=st.lists(attempts, max_size=3).map(tuple),
    selected=st.builds(Selected, st.none() | st.text(), statuses, st.floats(0, 1)),
    spend=st.dictionaries(st.text(), usages, max_size=3),
    depth=counts,
    seconds=amounts,
    stop=st.none() | st.text(),
    outcome=st.sampled_from(["done", "failed"]),
    cause=st.text(),
)
tolerant = settings(max_examples=100, deadline=None, derandomize=True, database=None)


@tolerant
@given(rows)
def test_a_row_comes_back_as_it_was_written(row):
    line = run_rows.dump(row)
    assert line.isascii()
    assert "\n" not in line
    assert run_rows.parse(line, "x:1") == row
    assert run_rows.dump(run_rows.parse(line.encode(), "x:1")) == line


def test_the_line_has_the_fields_that_other_tools_read():
    plain = json.loads(run_rows.dump(ROW))
    assert list(plain) == [
        *("problem", "method", "iteration", "attempts", "selected"),
        *("spend", "depth", "seconds", "stop", "outcome", "cause"),
    ]
    [attempt] = plain["attempts"]
    assert list(attempt) == ["index", "mode", "outcome", "answer", "score", "status", "class"]
    assert plain["selected"] == {"answer": "1/2", "status": "correct", "confidence": 1.0}
    assert set(plain["spend"]["solution"]) == set(Usage.__dataclass_fields__)


@tolerant
@given(rows, st.data())
def test_a_line_that_was_cut_is_passed_over_at_the_end_alone(tmp_path_factory, row, data):
    file = tmp_path_factory.mktemp("cut") / run_rows.FILE
    line = run_rows.dump(row)
    cut = line[: data.draw(st.integers(1, len(line) - 1))]
    file.write_text(f"{run_rows.dump(ROW)}\n{cut}")
    found = run_rows.read(file)
    assert found.rows == (ROW,)
    assert [note.startswith(f"{file}:2: passed over") for note in found.notes] == [True]
    file.write_text(f"{cut}\n{run_rows.dump(ROW)}\n")
    with pytest.raises(StorageError, match=r"rows\.jsonl:1: not JSON"):
        run_rows.read(file)


@tolerant
@given(st.text() | st.binary())
def test_garbage_is_a_storage_error_that_names_its_place(garbage):
    with pytest.raises(StorageError, match=r"^rows:7: "):
        run_rows.parse(garbage, "rows:7")


def test_a_last_line_that_is_whole_counts_without_its_end(tmp_path):
    (tmp_path / "rows").write_text(run_rows.dump(ROW))
    assert run_rows.read(tmp_path / "rows") == ((ROW,), ())


def test_zeros_of_a_power_cut_are_passed_over(tmp_path):
    (tmp_path / "rows").write_bytes(run_rows.dump(ROW).encode() + b"\n\0\0\0")
    found = run_rows.read(tmp_path / "rows")
    assert (found.rows, len(found.notes)) == ((ROW,), 1)


def test_a_last_line_of_something_else_is_an_error(tmp_path):
    (tmp_path / "rows").write_text(f"{run_rows.dump(ROW)}\nhello")
    with pytest.raises(StorageError, match="rows:2: not JSON"):
        run_rows.read(tmp_path / "rows")


def test_of_two_rows_about_the_same_the_last_holds(tmp_path):
    other, again = replace(ROW, iteration=1), replace(ROW, depth=9)
    (tmp_path / "rows").write_text(run_rows.dumped([ROW, other, again]))
    assert run_rows.read(tmp_path / "rows").rows == (again, other)


def test_empty_lines_and_a_byte_order_mark_dont_count(tmp_path):
    (tmp_path / "rows").write_text(f"\ufeff{run_rows.dump(ROW)}\r\n\n", encoding="utf-8")
    assert run_rows.read(tmp_path / "rows") == ((ROW,), ())


def test_a_file_that_isnt_there_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"rows: can't be read \(No such file"):
        run_rows.read(tmp_path / "rows")


def changed(**values):
    return json.dumps({**json.loads(run_rows.dump(ROW)), **values})


ATTEMPT = json.loads(run_rows.dump(ROW))["attempts"][0]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "a list, not an object"),
        (changed(problem=""), "\"problem\" is '', not a name"),
        (changed(iteration=-1), '"iteration" is -1, not a whole number from 0'),
        (changed(iteration=True), '"iteration" is True, not a whole'),
        (changed(iteration=1.5), '"iteration" is 1.5, not a whole'),
        (changed(seconds="1"), "\"seconds\" is '1', not a number"),
        (changed(seconds=10**400), '"seconds" is 1'),
        (changed(seconds=-1), '"seconds" is -1.0, not a number from 0'),
        (run_rows.dump(ROW).replace("1.5", "NaN"), "NaN is no number"),
        (run_rows.dump(ROW).replace("1.5", "1e999"), '"seconds" is inf, not a number'),
        (changed(outcome="open"), "\"outcome\" is 'open', not one of done, failed"),
        (changed(stopp=None), 'unknown field "stopp" (did you mean '),
        (changed(attempts={}), '"attempts" is {}, not a list'),
        (changed(attempts=[1]), '"attempts[0]" is 1, not an object'),
        (changed(attempts=[{**ATTEMPT, "class": "a"}]), "\"attempts[0].class\" is 'a'"),
        (changed(attempts=[{**ATTEMPT, "status": []}]), '"attempts[0].status" is []'),
        (changed(attempts=[{"index": 0}]), 'no "attempts[0].mode" (fields: index)'),
        (changed(selected=None), '"selected" is None, not an object'),
        (changed(spend={"judge": {"calls": -1}}), '"spend.judge.calls" is -1'),
        (changed(spend={"judge": {"prompt": 1}}), 'unknown field "spend.judge.prompt"'),
    ],
)
def test_what_is_wrong_with_a_row_is_said(line, message):
    with pytest.raises(StorageError) as caught:
        run_rows.parse(line, "runs/a/rows.jsonl:17")
    assert str(caught.value).startswith("runs/a/rows.jsonl:17: ")
    assert message in str(caught.value)


def test_a_field_that_a_usage_lacks_is_0():
    row = run_rows.parse(changed(spend={"solution": {"calls": 2}}), "x:1")
    assert row.spent == Usage(calls=2)
