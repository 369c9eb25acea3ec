r"""What the made run in tests/cases/runs/small looks like in every format.

After a change that is meant: `python -m tmas_graph compare tests/cases/runs/small --format FORMAT
--out tests/cases/runs/small/expected.SUFFIX`, and read the difference.
"""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tmas_graph.evaluation.comparing import compare
from tmas_graph.evaluation.formats import FORMATS, comma_separated, in_latex, latex, markdown
from tmas_graph.evaluation.tables import COLUMNS, Report, Table, report
from tmas_graph.evaluation.uniting import load, unite

SMALL = Path(__file__).parents[1] / "cases" / "runs" / "small"


@pytest.fixture(scope="module")
def small() -> Report:
    return report(compare(unite([load(SMALL)])))


@pytest.mark.parametrize(
    ("name", "suffix"), [("markdown", "md"), ("csv", "csv"), ("latex", "tex"), ("json", "json")]
)
def test_each_format_is_as_it_was_found_good(small: Report, name: str, suffix: str) -> None:
    expected = (SMALL / f"expected.{suffix}").read_text(encoding="utf-8")
    assert FORMATS[name](small) == expected


def test_the_tables_have_every_column_that_programs_get(small: Report) -> None:
    headings = {heading for table in small.tables for heading in table.headings}
    assert {column.heading for column in COLUMNS} - headings <= {"", "at"}
    for record in small.records:
        assert list(record) == list(small.records[0])
        assert {column.name for column in COLUMNS} <= set(record)


def test_csv_and_json_say_the_same(small: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(comma_separated(small))))
    entries = json.loads(FORMATS["json"](small))["entries"]
    assert len(rows) == len(entries) == len(small.records)
    for row, entry in zip(rows, entries, strict=True):
        assert row == {name: "" if value is None else str(value) for name, value in entry.items()}


HOSTILE = r"a|b_c*<i>\$x^2 {y} & 50% #1 ~"


def hostile(small: Report) -> Report:
    table = Table(HOSTILE, ("method", HOSTILE), ((HOSTILE, "1\n2"),), frozenset({0}))
    return replace(small, tables=(table,), notes=(f"note\n{HOSTILE}",))


def test_names_cant_break_out_of_a_markdown_table(small: Report) -> None:
    lines = markdown(hostile(small)).splitlines()
    [row] = [line for line in lines if line.endswith("| 1 2 |")]
    assert row.replace(r"\|", "").count("|") == 3
    assert r"\<i\>" in row
    assert lines[-1].startswith("- note a")


def test_names_cant_break_out_of_latex(small: Report) -> None:
    assert in_latex(r"\a_b $1 & 2% #{~^}") == (
        r"\textbackslash{}a\_b \$1 \& 2\% \#\{\textasciitilde{}\textasciicircum{}\}"
    )
    text = latex(hostile(small))
    assert "\n2" not in text
    notes = text.split(r"\end{table}")[-1].split("\n")
    assert all(line.startswith("%") for line in notes if line)


def test_a_spreadsheet_runs_no_name(small: Report) -> None:
    record = {**small.records[0], "method": "=1+1", "at": -1}
    text = comma_separated(replace(small, records=(record,)))
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["method"], row["at"]) == ("'=1+1", "-1")
