from pathlib import Path

import pytest
from runs_made import folder, rows

from tmas_graph.evaluation.paper import paper, published
from tmas_graph.evaluation.uniting import load, unite

LONG = [*["+a"] * 19, "++"]
QWEN = "Qwen/Qwen3-4B-Thinking-2507"


def made(tmp_path: Path, *parts, **setup):
    paths = [folder(tmp_path / str(i), part, **setup) for i, part in enumerate(parts)]
    return paper(unite([load(path) for path in paths]))


def test_the_published_numbers_are_shares_of_32_samples_a_problem():
    assert len(published()["rows"]) == 13
    odd = []
    for row in published()["rows"]:
        for name, benchmark in published()["benchmarks"].items():
            assert len(row[name]) == (1 if row["method"] == "majority of 64" else 6)
            shares = [value / 100 * 32 * benchmark["problems"] for value in row[name]]
            rounded = 0.005 / 100 * 32 * benchmark["problems"] + 1e-6
            odd += [share for share in shares if abs(share - round(share)) > rounded]
    assert len(odd) <= 3  # as printed: all but three are


def test_our_row_stands_below_that_of_the_same_model_and_method(tmp_path):
    models = {"tmas": {"solution": QWEN}}
    found = made(tmp_path, rows("tmas", {"p1": LONG, "p2": ["ab"] * 20}), models=models)
    [table] = found.tables
    assert table.title == "Pass@1 % on IMO-AnswerBench-50"
    names = [row[:3] for row in table.rows]
    place = names.index((QWEN, "tmas", "ours"))
    assert names[place - 1] == ("Qwen3-4B-Thinking-2507", "TMAS", "paper")
    assert table.rows[place][3:] == ("–", *["25.00 ± 25.00"] * 5, "50.00 ± 50.00")
    assert table.rows[place - 1][-1] == "17.06"


def test_another_model_stands_at_the_end_and_differs(tmp_path):
    found = made(tmp_path, rows("tmas", {"p1": ["+", "+"]}))
    [table] = found.tables
    assert table.rows[-1][:3] == ("tiny", "tmas", "ours")
    assert table.rows[-1][4:] == ("100.00 ± –", "–", "–", "–", "–", "–")
    assert any(note.startswith("differs: model: the paper Qwen3") for note in found.notes)


def test_what_differs_is_said_once_for_all_methods_that_share_it(tmp_path):
    found = made(tmp_path, rows("tmas", {"p1": ["+a"]}), rows("rse", {"p1": ["+a"]}))
    said = [note.removeprefix("differs: ") for note in found.notes if note.startswith("differs")]
    assert "N, candidates per iteration: the paper 8; ours 4 (tmas, rse)" in said
    assert "samples per problem and iteration: the paper 32; ours 2 (tmas, rse)" in said
    assert "version of the benchmark: ours v2 (tmas, rse)" in said
    assert not any(what.startswith("ε") for what in said)


def test_self_consistency_stands_beside_the_majority_of_64(tmp_path):
    found = made(tmp_path, rows("self_consistency", {"p1": ["+" * 40 + "a" * 60]}))
    row = found.tables[0].rows[-1]
    assert row[1:3] == ("majority of 64", "ours")
    assert float(row[3].split()[0]) == pytest.approx(0.8, abs=0.8)  # 64 of 100, 40 % are right
    few = made(tmp_path / "few", rows("self_consistency", {"p1": ["++a"]}))
    assert few.tables[0].rows[-1][1:4] == ("majority of 3", "ours", "100.00 ± –")


def test_another_benchmark_has_a_table_of_its_own(tmp_path):
    found = made(tmp_path, rows("tmas", {"p1": ["+", "+"]}), source={"name": "gsm8k"})
    assert [table.title.removeprefix("Pass@1 % on ") for table in found.tables] == [
        "IMO-AnswerBench-50",
        "HLE-Math-100",
        "gsm8k",
    ]
    assert "the paper has no numbers on gsm8k" in found.notes


def test_programs_get_shares_by_iteration(tmp_path):
    found = made(tmp_path, rows("tmas", {"p1": ["+", "+"], "p2": ["a", "a"]}))
    ours = [record for record in found.records if record["whose"] == "ours"]
    assert [(r["iteration"], r["pass_at_1"], r["problems"]) for r in ours] == [(1, 0.5, 2)]
    theirs = [r for r in found.records if r["method"] == "TMAS" and r["iteration"] == 19]
    assert [r["pass_at_1"] for r in theirs] == pytest.approx([0.405, 0.1706])
