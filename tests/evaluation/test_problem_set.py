from itertools import chain

import pytest

from tmas_graph.errors import ProblemError, SettingsError
from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.problem_set import checksum, chosen, in_shard, source_of
from tmas_graph.state import Problem

NAMES = [f"p{i}" for i in range(10)]
FOUND = Dataset("x", "1", tuple(Problem(f"Is it {n}?", n) for n in NAMES), {"p1": "42"})


def test_the_first_ones_and_the_named_ones_are_chosen_in_order():
    assert chosen(FOUND) == NAMES
    assert chosen(FOUND, limit=2) == ["p0", "p1"]
    assert chosen(FOUND, limit=2, ids=["p9", "p4", "p0"]) == ["p0", "p1", "p4", "p9"]


def test_shards_part_the_problems_and_stay_as_they_are_when_there_are_more():
    few, all_of_them = chosen(FOUND, limit=5), chosen(FOUND)
    parts = [in_shard(FOUND, all_of_them, f"{i}/3") for i in (1, 2, 3)]
    assert sorted(chain(*parts)) == NAMES
    for i, part in enumerate(parts, start=1):
        assert set(in_shard(FOUND, few, f"{i}/3")) == set(part) & set(few)


@pytest.mark.parametrize("shard", ["", "2", "0/2", "3/2", "a/b", "-1/2", "1/0", "\u0661/\u0662"])
def test_a_wrong_shard_is_refused(shard: str):
    with pytest.raises(SettingsError, match=r"--shard: .* isn't I/N"):
        in_shard(FOUND, NAMES, shard)


def test_the_checksum_changes_with_a_text_or_a_gold_answer():
    as_it_is = checksum(FOUND, NAMES)
    golds = Dataset("x", "1", FOUND.problems, {"p1": "43"})
    texts = Dataset("x", "1", (*FOUND.problems[:-1], Problem("Else?", "p9")), FOUND.golds)
    assert len({as_it_is, checksum(golds, NAMES), checksum(texts, NAMES)}) == 3
    with pytest.raises(ProblemError, match="isn't in it any more"):
        checksum(FOUND, ["p77"])


def test_a_file_is_known_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"problem_id": 1, "question": "?"}')
    source = source_of("a.jsonl", split=None, answer="gold")
    assert source.name == str(tmp_path / "a.jsonl")
    assert source.keys == {"answer": "gold"}
