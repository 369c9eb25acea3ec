import json
import sys

import pytest

from tmas_graph.errors import MissingExtra, ProblemError
from tmas_graph.evaluation import datasets
from tmas_graph.evaluation.datasets import SOURCES, load, text_only_mathematics
from tmas_graph.evaluation.rows import Placed

SHIPPED = [name for name, source in SOURCES.items() if source.file]


def write(path, *lines):
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("name", "count"), [("gsm8k", 200), ("imo-answerbench", 400)])
def test_what_ships_can_be_loaded_at_once(name, count):
    found = load(name)
    assert len(found.problems) == len(found.golds) == count
    assert {problem.id for problem in found.problems} == set(found.golds)
    assert found.version == SOURCES[name].version


def test_the_repaired_rows_hold_the_right_answers():
    golds = load("imo-answerbench").golds
    assert golds["imo-bench-geometry-004"] == "4, 5"
    assert golds["imo-bench-algebra-036"].startswith("$Y(x)=")


def test_a_problem_is_found_by_its_id_or_the_end_of_it():
    found = load("gsm8k")
    assert found.problem("test-0001") == found.problem("gsm8k-test-0001")
    with pytest.raises(ProblemError, match=r"no problem 'test-9'.*`tmas problems gsm8k` lists"):
        found.problem("test-9")
    with pytest.raises(ProblemError, match=r"'036' may be imo-bench-.*036 or "):
        load("imo-answerbench").problem("036")


def test_a_file_gives_problems_and_golds_apart(tmp_path):
    rows = [
        {"problem_id": "a", "question": "Q {{ x }}", "answer": "1"},
        "",
        {"problem_id": 7, "question": "R", "answer": 2.5},
        {"problem_id": "c", "question": "S"},
    ]
    found = load(write(tmp_path / "own.jsonl", *rows))
    assert [(p.id, p.question) for p in found.problems] == [
        ("a", "Q {{ x }}"), ("7", "R"), ("c", "S")
    ]  # fmt: skip
    assert found.golds == {"a": "1", "7": "2.5"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"own\.jsonl:2: not JSON"),
        ("[" * 100_000, r"own\.jsonl:2: not JSON"),
        ([1], r"own\.jsonl:2: a list, not an object"),
        (
            {"problem_id": "b", "text": "Q"},
            r'own\.jsonl:2: no "question" \(keys: problem_id, text\)\. '
            r'Rename "text" or pass --question-key text\.',
        ),
        (
            {"id": "b", "question": "Q"},
            r'own\.jsonl:2: no "problem_id" \(keys: id, question\)\. '
            r'Rename "id" or pass --id-key id\.',
        ),
        ({"problem_id": "b"}, r"Add it, or pass --question-key NAME\."),
        ({"problem_id": "b", "qestion": "Q"}, r"\(did you mean 'qestion'\?\)"),
        ({"problem_id": "b", "question": " "}, r'own\.jsonl:2: "question" is \' \'\. Write a text'),
        ({"problem_id": True, "question": "Q"}, r'"problem_id" is True'),
        ({"problem_id": "b", "question": "Q", "answer": [1]}, r'"answer" is \[1\]\. Write a text'),
        (
            {"problem_id": "a", "question": "Q"},
            r"own\.jsonl:2: 'a' is the id of .*own\.jsonl:1, too\. Give each",
        ),
    ],
)
def test_a_bad_line_names_its_number_and_what_to_do(tmp_path, line, said):
    file = write(tmp_path / "own.jsonl", {"problem_id": "a", "question": "Q"}, line)
    with pytest.raises(ProblemError, match=said):
        load(file)


def test_keys_can_be_called_otherwise(tmp_path):
    file = write(tmp_path / "own.jsonl", {"id": "a", "text": "Q", "target": "1"})
    found = load(file, problem_id="id", question="text", answer="target")
    assert (found.problems[0].id, found.golds) == ("a", {"a": "1"})


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gsm9k", r"no data set 'gsm9k' \(did you mean 'gsm8k'\?\)\. The names are gsm8k, "),
        ("gone.jsonl", r"gone\.jsonl: there is no such file"),
    ],
)
def test_an_unknown_name_is_said_with_what_there_is(name, said):
    with pytest.raises(ProblemError, match=said):
        load(name)


def test_an_empty_or_binary_file_is_said(tmp_path):
    with pytest.raises(ProblemError, match="there is no problem in it"):
        load(write(tmp_path / "own.jsonl", ""))
    (tmp_path / "own.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match="can't be read"):
        load(str(tmp_path / "own.jsonl"))


def test_a_named_set_is_read_from_the_users_copy_by_its_own_keys(tmp_path):
    file = write(tmp_path / "copy.jsonl", {"id": 61, "problem": "Q", "answer": "3", "url": "u"})
    found = load("aime24", path=file)
    assert (found.problems[0].id, found.golds) == ("61", {"61": "3"})
    assert found.version.endswith(f"(from {file})")


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"'aime25' needs it\. Run: pip install \"tmas-graph\[d"):
        load("aime25")


class Hub:
    """A stand-in for the package `datasets`, which would go to the network."""

    def __init__(self, rows):
        self.rows, self.asked = rows, []

    def load_dataset(self, where, *, split):
        self.asked.append((where, split))
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows


def test_a_hub_id_numbers_the_rows_that_have_no_id(monkeypatch):
    hub = Hub([{"problem": "Q", "answer": 1}, {"problem": "R", "answer": None}])
    monkeypatch.setitem(sys.modules, "datasets", hub)
    found = load("someone/olympiad", question="problem", split="train")
    assert hub.asked == [("someone/olympiad", "train")]
    assert [p.id for p in found.problems] == ["olympiad-0001", "olympiad-0002"]
    assert found.golds == {"olympiad-0001": "1"}


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in SHIPPED])
def test_each_named_set_is_asked_for_by_its_id_and_split(name, monkeypatch):
    source = SOURCES[name]
    row = {source.keys.problem_id: "x", source.keys.question: "Q", "answer": "1"}
    hub = Hub([{**row, "category": "Math", "image": ""}])
    monkeypatch.setitem(sys.modules, "datasets", hub)
    assert load(name).golds == {"x": "1"}
    assert hub.asked == [(source.hub, source.split)]


@pytest.mark.parametrize(
    "reason", [FileNotFoundError("doesn't exist on the Hub"), ConnectionError(""), ValueError("x")]
)
def test_what_the_hub_refuses_is_said_with_a_way_out(reason, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", Hub(reason))
    with pytest.raises(ProblemError, match=r"hle-math: cais/hle \(split test\) can't .*--from"):
        load("hle-math")


def test_hle_is_a_seeded_sample_of_text_only_mathematics():
    def row(number):
        picture = "data:" if number % 3 == 0 else ""
        values = {"id": f"{number:03d}", "category": "Math" if number % 2 else "Law"}
        return Placed(str(number), {**values, "image": picture})

    rows = [row(number) for number in range(900)]
    chosen = text_only_mathematics(rows)
    ids = [each.values["id"] for each in chosen]
    assert len(set(ids)) == 100
    assert ids == sorted(ids)
    assert all(r.values["category"] == "Math" and not r.values["image"] for r in chosen)
    assert text_only_mathematics(rows[::-1]) == chosen


def test_the_data_says_where_it_comes_from():
    text = (datasets._DATA / "README.md").read_text(encoding="utf-8")
    parts = ("Creative Commons Attribution 4.0", "a02069e", "MIT License", "OpenAI", "repaired")
    assert [part for part in parts if part not in text] == []
