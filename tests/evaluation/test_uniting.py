import json

import pytest
from runs_made import folder, rows

from tmas_graph.errors import SettingsError, StorageError
from tmas_graph.evaluation.uniting import load, unite

TMAS = rows("tmas", {"p1": ["++", "+a"], "p2": ["ab", "ab"]})


def test_a_folder_is_read_with_what_it_was_made_with(tmp_path):
    found = load(folder(tmp_path / "a", TMAS))
    assert found.rows == tuple(TMAS)
    setup = found.setup
    assert (setup.benchmark, setup.version, setup.problems) == (
        "imo-answerbench",
        "v2",
        ("p1", "p2"),
    )
    assert setup.settings["tmas"]["candidates"] == 4


def test_shards_of_a_run_unite(tmp_path):
    parts = [[r for r in TMAS if r.problem == name] for name in ("p2", "p1")]
    paths = [folder(tmp_path / str(i), part) for i, part in enumerate(parts)]
    found = unite([load(path) for path in paths])
    run = found.methods["tmas"]
    assert {name: list(many) for name, many in run.rows.items()} == {
        "p1": TMAS[:2],
        "p2": TMAS[2:],
    }
    assert set(run.setup.problems) == {"p1", "p2"}


def test_methods_come_in_the_order_of_the_plan_whoever_ended_first(tmp_path):
    first, second = rows("a", {"p": ["+"]}), rows("b", {"p": ["+"]})
    planned = {"methods": {"a": {}, "b": {}}}
    found = unite([load(folder(tmp_path / "r", [*second, *first], **planned))])
    assert list(found.methods) == ["a", "b"]


def test_the_same_folder_twice_is_that_folder(tmp_path):
    one = load(folder(tmp_path / "a", TMAS))
    assert unite([one, one]).methods == unite([one]).methods


OTHERS = (
    ({"methods": {"tmas": {"candidates": 8}}}, "candidates (4 / 8)"),
    ({"version": "v1"}, "version (v2 / v1)"),
    ({"models": {"tmas": {"solution": "large"}}}, "model solution (tiny / large)"),
    ({"prompts": {"tmas": {"solution_initial": "cd"}}}, "the prompts solution_initial"),
    ({"source": {"name": "gsm8k"}}, "benchmark (imo-answerbench / gsm8k)"),
)


@pytest.mark.parametrize(("changes", "said"), OTHERS)
def test_other_settings_of_a_method_are_named_unless_runs_have_labels(tmp_path, changes, said):
    runs = [load(folder(tmp_path / "a", TMAS)), load(folder(tmp_path / "b", TMAS, **changes))]
    with pytest.raises(SettingsError, match="tmas was run with other settings") as caught:
        unite(runs)
    assert said in str(caught.value)
    found = unite(runs, ["small", "large"])
    assert list(found.methods) == ["tmas @ small", "tmas @ large"]
    assert found.methods["tmas @ small"].settings["candidates"] == 4


def test_what_only_changes_how_a_run_goes_is_no_difference(tmp_path):
    settings = {"candidates": 4, "model": "tiny", "epsilon": 0.2, "seed": 0}
    other = {"tmas": {**settings, "concurrency": 8, "base_url": "http://127.0.0.1:9/v1"}}
    runs = [folder(tmp_path / "a", TMAS), folder(tmp_path / "b", TMAS, methods=other)]
    assert list(unite([load(path) for path in runs]).methods) == ["tmas"]


def test_rows_that_contradict_each_other_are_refused(tmp_path):
    other = rows("tmas", {"p1": ["aa", "+a"]})
    runs = [load(folder(tmp_path / "a", TMAS)), load(folder(tmp_path / "b", other))]
    with pytest.raises(
        SettingsError, match="tmas at 'p1', iteration 0, differs from another run's"
    ):
        unite(runs)


def test_one_label_for_two_runs_is_refused(tmp_path):
    runs = [load(folder(tmp_path / name, TMAS)) for name in "ab"]
    with pytest.raises(SettingsError, match="--label: 1 for 2 runs"):
        unite(runs, ["small"])


def test_runs_about_other_benchmarks_are_said(tmp_path):
    other = folder(tmp_path / "b", rows("rse", {"p1": ["+"]}), version="v1")
    found = unite([load(folder(tmp_path / "a", TMAS)), load(other)])
    assert found.notes == (
        "the runs are about different benchmarks or versions: "
        "imo-answerbench (v2); imo-answerbench (v1)",
    )


def test_a_half_written_row_is_noted(tmp_path):
    path = folder(tmp_path / "a", TMAS)
    with (path / "rows.jsonl").open("a") as file:
        file.write('{"problem": "p')
    [note] = unite([load(path)]).notes
    assert note.endswith("rows.jsonl:5: passed over, as a crash left this line unfinished")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"run\.json: can't be read \(No such file"),
        ("{", r"run\.json: not JSON"),
        ("[]", r"run\.json: a list, not an object"),
    ],
)
def test_a_bad_setup_is_named(tmp_path, content, said):
    path = folder(tmp_path / "a", TMAS)
    (path / "run.json").unlink()
    if content is not None:
        (path / "run.json").write_text(content)
    with pytest.raises(StorageError, match=said):
        load(path)


def test_a_setup_that_says_little_is_enough(tmp_path):
    path = folder(tmp_path / "a", TMAS)
    (path / "run.json").write_text(json.dumps({"problems": 7, "source": 1, "methods": [1]}))
    run = unite([load(path)]).methods["tmas"]
    assert (run.settings, run.model, run.setup.problems) == ({}, "unknown model", ())


def test_no_folder_and_no_rows_are_said(tmp_path):
    with pytest.raises(StorageError, match="there is no such folder"):
        load(tmp_path / "none")
    with pytest.raises(StorageError, match=r"no rows\.jsonl in it"):
        load(tmp_path)
    with pytest.raises(StorageError, match="there is no row in it"):
        load(folder(tmp_path / "a", []))
