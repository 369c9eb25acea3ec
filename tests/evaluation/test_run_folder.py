from pathlib import Path

import pytest

from tmas_graph.errors import StorageError
from tmas_graph.evaluation.run_folder import FILE, read_plan, replace_file, thread_name


def test_a_run_json_that_is_broken_is_named(tmp_path: Path):
    for text in ("", "[]", "{}", '{"format": 1}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(StorageError, match=r"run\.json: isn't what this version writes"):
            read_plan(tmp_path)


def test_a_folder_without_a_run_is_named(tmp_path: Path):
    with pytest.raises(StorageError, match=r"is no run, as it has no run\.json"):
        read_plan(tmp_path)


def test_a_file_that_cannot_be_replaced_stays_as_it_is(tmp_path: Path):
    file = tmp_path / FILE
    file.mkdir()
    with pytest.raises(StorageError, match="can't be written"):
        replace_file(file, "x")
    assert file.is_dir()


def test_thread_names_are_safe_and_distinct():
    odd = [thread_name("tmas[a=1]", "../../etc"), thread_name("tmas[a=1]", "..-..-etc")]
    assert odd[0] != odd[1]
    assert all("/" not in name and not name.startswith(".") for name in odd)
    assert len(thread_name("tmas", "x" * 1000)) < 100
