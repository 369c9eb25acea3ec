from dataclasses import replace
from pathlib import Path

import pytest

from tmas_graph.errors import StorageError
from tmas_graph.evaluation.row_log import Job, RowLog
from tmas_graph.evaluation.run_rows import FILE, Row, Selected, dump, read

WHOLE = [
    Row("p1", "tmas", 0, (), Selected("7", "incorrect", 0.5)),
    Row("p1", "tmas", 1, (), Selected("42", "correct", 1.0), stop="iterations"),
]
OTHER = [Row("p2", "tmas", 0, (), Selected("1", "unsure", 1.0), stop="confident")]
FAILED = Row("p3", "tmas", 2, (), Selected(None, "error", 0.0), outcome="failed", cause="down")


@pytest.fixture
def log(tmp_path: Path) -> RowLog:
    return RowLog(tmp_path)


def test_what_was_appended_is_there(log: RowLog, tmp_path: Path):
    log.append(WHOLE)
    log.append(OTHER)
    assert read(tmp_path / FILE).rows == (*WHOLE, *OTHER)
    written = log.written()
    assert written[Job("p1", "tmas")].whole
    assert written[Job("p1", "tmas")].status == "correct"


def test_there_may_be_no_file_yet(log: RowLog, tmp_path: Path):
    assert log.written() == {}
    log.keep(set())
    assert (tmp_path / FILE).read_bytes() == b""


@pytest.mark.parametrize("cut", [1, 30, 150])
def test_a_half_written_line_is_taken_out(log: RowLog, tmp_path: Path, cut: int):
    log.append(OTHER)
    with (tmp_path / FILE).open("a") as out:
        out.write(f"{dump(WHOLE[0])}\n{dump(WHOLE[1])[:cut]}")
    written = log.written()
    assert not written[Job("p1", "tmas")].whole
    log.keep({job for job, rows in written.items() if rows.whole})
    log.append(WHOLE)
    assert read(tmp_path / FILE) == ((*OTHER, *WHOLE), ())


def test_the_last_line_of_a_job_may_be_whole_but_for_its_end(log: RowLog, tmp_path: Path):
    (tmp_path / FILE).write_text(f"{dump(WHOLE[0])}\n{dump(WHOLE[1])}")
    assert log.written()[Job("p1", "tmas")].whole
    log.keep({Job("p1", "tmas")})
    log.append(OTHER)
    assert read(tmp_path / FILE).rows == (*WHOLE, *OTHER)


def test_rows_that_stand_twice_are_kept_once(log: RowLog, tmp_path: Path):
    log.append(WHOLE)
    log.append([replace(row, seconds=3.0) for row in WHOLE])
    log.keep({Job("p1", "tmas")})
    assert (tmp_path / FILE).read_text().count("\n") == 2


def test_what_failed_or_lacks_a_row_is_not_whole(log: RowLog):
    log.append([FAILED])
    log.append(WHOLE[1:])
    written = log.written()
    assert not written[Job("p3", "tmas")].whole
    assert not written[Job("p1", "tmas")].whole


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(StorageError, match=r"run: .*rows\.jsonl can't be written"):
        RowLog(tmp_path).append(OTHER)
