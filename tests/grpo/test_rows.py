"""Files of prompts, good ones and bad ones."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tmas_graph.errors import MissingExtra, StorageError
from tmas_graph.grpo.rows import Row, Strategy, read, stream

CHAT = [{"role": "user", "content": "2 + 2 = ?"}]


def values(**changes: Any) -> dict[str, Any]:
    extra = {
        "index": 7,
        "problem": "p",
        "problem_prompt": CHAT,
        "p0": 0.25,
        "experience": [{"text": "It is even."}],
        "strategies": [{"name": "counting", "essence": "on fingers"}],
        "more": "of another maker",
    }
    extra.update(changes.pop("extra", {}))
    return {
        "prompt": CHAT,
        "data_source": "math",
        "reward_model": {"ground_truth": "4", "style": "rule"},
        "extra_info": extra,
        "_source": "guideline",
        "ability": "math",
        **changes,
    }


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "train.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows)), file)
    return file


def test_a_row_is_read_with_its_banks(tmp_path: Path) -> None:
    prompt = ({"role": "user", "content": "2 + 2 = ?"},)
    assert read(written(tmp_path, values())) == [
        Row(
            source="guideline",
            prompt=prompt,
            ground_truth="4",
            data_source="math",
            index=7,
            problem="p",
            problem_prompt=prompt,
            p0=0.25,
            experience=("It is even.",),
            strategies=(Strategy("counting", "on fingers"),),
        )
    ]


def test_what_other_makers_leave_out_is_unknown(tmp_path: Path) -> None:
    row = values(extra_info={"split": "train"}, _source="experience")
    first, second = read(written(tmp_path, row, row))
    assert (first.p0, first.problem_prompt, first.experience) == (None, (), ())
    assert (first.index, second.index) == (0, 1)


def test_banks_of_plain_texts_are_read_too(tmp_path: Path) -> None:
    extra = {"experience": ["It is even."], "strategies": ["counting"]}
    [row] = read(written(tmp_path, values(extra_info=extra)))
    assert row.experience == ("It is even.",)
    assert row.strategies == (Strategy("counting"),)


@pytest.mark.parametrize("name", ["prompt", "data_source", "reward_model", "extra_info", "_source"])
def test_a_missing_column_is_named(tmp_path: Path, name: str) -> None:
    row = values()
    del row[name]
    with pytest.raises(StorageError, match=rf'train\.parquet: no column "{name}" \(columns: '):
        read(written(tmp_path, row))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"_source": "novel"}, "\"_source\" is 'novel'; it must be one of normal, experience"),
        ({"_source": None}, '"_source" is None'),
        ({"prompt": []}, '"prompt" is []; it must be a list of chat messages'),
        ({"prompt": None}, '"prompt" is None'),
        ({"prompt": "2 + 2 = ?"}, "\"prompt\" is '2 + 2 = ?'"),
        ({"prompt": [{"role": "user", "content": " "}]}, "messages whose content isn't empty"),
        ({"prompt": [{"role": "user", "content": None}]}, "messages whose content isn't empty"),
        ({"prompt": [{"role": "", "content": "a"}]}, "messages with a role and a content"),
        ({"prompt": [{"content": "a"}]}, "messages with a role and a content"),
        ({"prompt": ["a"]}, "messages with a role and a content"),
        ({"data_source": ""}, "\"data_source\" is ''; it must be a text"),
        ({"reward_model": None}, '"reward_model" is None; it must be a struct'),
        ({"reward_model": {"style": "rule"}}, '"reward_model.ground_truth" is None'),
        ({"reward_model": {"ground_truth": " "}}, "\"reward_model.ground_truth\" is ' '"),
        ({"reward_model": {"ground_truth": ["4"]}}, "\"reward_model.ground_truth\" is ['4']"),
        ({"extra_info": None}, '"extra_info" is None; it must be a struct'),
        ({"extra": {"p0": 1.5}}, '"extra_info.p0" is 1.5; it must be a number from 0 to 1'),
        ({"extra": {"p0": float("nan")}}, '"extra_info.p0" is nan'),
        ({"extra": {"p0": "half"}}, "\"extra_info.p0\" is 'half'"),
        ({"extra": {"strategies": []}}, '"extra_info.strategies" is []'),
        ({"extra": {"strategies": None}}, '"extra_info.strategies" is None'),
        ({"extra": {"strategies": [{"name": ""}]}}, "\"extra_info.strategies\" is ''"),
        ({"extra": {"experience": "text"}}, "\"extra_info.experience\" is 'text'; it must be a l"),
        ({"extra": {"problem_prompt": [{"role": "user"}]}}, '"extra_info.problem_prompt" is'),
    ],
    ids=str,
)
def test_a_bad_value_is_named_with_its_row(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    file = written(tmp_path, values(**changes))
    with pytest.raises(StorageError) as error:
        read(file)
    assert str(error.value).startswith(f"{file}: row 0: ")
    assert said in str(error.value)
    assert str(error.value).endswith("build the file anew with `tmas train data`.")


def test_the_row_that_is_wrong_is_counted_from_the_files_beginning(tmp_path: Path) -> None:
    good, bad = values(), values(_source="no")
    file = written(tmp_path, *[good] * 600, bad)
    rows = stream(file)
    assert [next(rows).problem for _ in range(600)] == ["p"] * 600
    with pytest.raises(StorageError, match="row 600: "):
        next(rows)


def test_a_file_without_rows_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "none.parquet"
    pq.write_table(pa.Table.from_pylist([values()]).slice(0, 0), file)
    assert read(file) == []


@pytest.mark.parametrize("content", [None, b"", b"PAR1 no more PAR1"], ids=str)
def test_what_is_no_parquet_is_said_to_be_none(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "train.parquet"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StorageError, match=r"train\.parquet: can't be read as parquet"):
        read(file)


def test_without_pyarrow_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'Run: pip install "tmas-graph\[train\]"'):
        read(tmp_path / "train.parquet")


def test_reading_loads_nothing_of_the_graph() -> None:
    code = (
        "import sys, tmas_graph.grpo.rows\n"
        "ours = {name for name in sys.modules if name.startswith('tmas_graph.')}\n"
        "print(sorted(ours), 'langgraph' in sys.modules, 'pyarrow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = ["tmas_graph.errors", "tmas_graph.grpo", "tmas_graph.grpo.rows"]
    names += ["tmas_graph.stored", "tmas_graph.usage"]
    assert done.stdout.strip() == f"{names} False False"
