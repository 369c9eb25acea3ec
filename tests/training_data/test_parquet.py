"""The files as verl and others read them."""

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tmas_graph.errors import MissingExtra
from tmas_graph.grpo.rows import COLUMNS
from tmas_graph.state import Problem
from tmas_graph.training_data import parquet
from tmas_graph.training_data.pass_rates import PassRate
from tmas_graph.training_data.samples import Origin, Sample, ShownItem, ShownStrategy

CHAT = ({"role": "system", "content": "Be exact."}, {"role": "user", "content": "2 + 2 = ?"})
PLAIN = Sample("normal", CHAT, Problem("2 + 2 = ?", "p"), CHAT, Origin("run", "tmas", "m"))
ITEM = ShownItem("pitfall", "Not 22.", "", "refuted", "It is 22 in base 1.", "other")
STRATEGY = ShownStrategy("counting", "on fingers", 2, None)
FULL = Sample(
    "experience",
    CHAT,
    Problem("2 + 2 = ?", "p"),
    CHAT,
    Origin("run", "tmas", "m", "thread", 3),
    (ITEM,),
    (STRATEGY,),
    4,
)


def record(sample: Sample, index: int = 0) -> dict[str, Any]:
    return parquet.record(sample, "4", PassRate(1, 4), index=index, split="train")


def written(folder: Path, *records: dict[str, Any]) -> Path:
    file = folder / f"{len(records)}.parquet"
    parquet.write(file, records)
    return file


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    records = [record(PLAIN), record(FULL, 1)]
    assert pq.read_table(written(tmp_path, *records)).to_pylist() == records
    assert records[1]["extra_info"] == {
        "index": 1,
        "split": "train",
        "problem": "p",
        "question": "2 + 2 = ?",
        "problem_prompt": list(CHAT),
        "p0": 0.25,
        "p0_rollouts": 4,
        "experience": [
            {
                "kind": "pitfall",
                "text": "Not 22.",
                "conditions": "",
                "status": "refuted",
                "reason": "It is 22 in base 1.",
                "problem": "other",
            }
        ],
        "strategies": [
            {"name": "counting", "essence": "on fingers", "tries": 2, "best_score": None}
        ],
        "rollouts": 4,
        "iteration": 3,
        "run": "run",
        "method": "tmas",
        "model": "m",
        "thread": "thread",
    }


def test_the_columns_are_the_published_ones() -> None:
    assert sorted(parquet.schema().names) == sorted(COLUMNS)
    assert record(PLAIN).keys() == set(COLUMNS)


def test_every_file_has_the_same_types_whatever_is_in_it(tmp_path: Path) -> None:
    files = [written(tmp_path), written(tmp_path, record(PLAIN)), written(tmp_path, record(FULL))]
    tables = [pq.read_table(file) for file in files]
    for table in tables:
        assert table.schema.remove_metadata() == parquet.schema()
        assert not any(pa.types.is_null(field.type) for field in table.schema)
    assert pa.concat_tables(tables).num_rows == 2


def test_a_row_is_what_verl_asks_for(tmp_path: Path) -> None:
    # What its data set and reward manager take of a row, as far as it is the file's to give.
    [row] = pq.read_table(written(tmp_path, record(FULL))).to_pylist()
    assert [set(message) for message in row["prompt"]] == [{"role", "content"}] * 2
    assert row["prompt"][-1]["role"] == "user"
    assert isinstance(row["extra_info"]["index"], int)
    assert row["extra_info"].get("tools_kwargs", {}) == {}
    assert row["reward_model"]["style"] == "rule"
    assert isinstance(row["reward_model"]["ground_truth"], str)
    assert isinstance(row["data_source"], str)


def test_without_pyarrow_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'Run: pip install "tmas-graph\[train\]"'):
        parquet.check()
