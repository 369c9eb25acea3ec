import pytest
from runs_made import folder, rows

from tmas_graph.errors import SettingsError
from tmas_graph.evaluation.comparing import compare
from tmas_graph.evaluation.uniting import load, unite
from tmas_graph.usage import Usage

VOTING = rows("self_consistency", {"p1": ["+++a"], "p2": ["aab+"], "p3": ["abcd"]})
TMAS = rows(
    "tmas",
    {"p1": ["+++a", "++++"], "p2": ["aa+b", "+++b"], "p3": ["abab", "+aaa"]},
    tokens=200,
)
RSE = rows("rse", {"p1": ["++", "+a"], "p2": ["ab", "+a"], "p4": ["++", "++"]})


@pytest.fixture
def compared(tmp_path):
    def of(*parts, **options):
        made = [folder(tmp_path / str(i), part) for i, part in enumerate(parts)]
        return compare(unite([load(path) for path in made]), **options)

    return of


def found(entries, method, at):
    [entry] = [e for e in entries if e.method == method and e.at == at]
    return entry


def test_self_consistency_is_the_base_unless_another_is_named(compared):
    assert compared(TMAS, VOTING).base == "self_consistency"
    assert compared(TMAS, RSE).base == "tmas"
    assert compared(TMAS, VOTING, base="tmas").base == "tmas"


def test_at_equal_iterations_each_method_is_paired_with_the_base(compared):
    entries = compared(VOTING, TMAS).by_iterations
    assert [(e.at, e.method) for e in entries] == [
        (0, "self_consistency"),
        (0, "tmas"),
        (1, "self_consistency"),
        (1, "tmas"),
    ]
    last = found(entries, "tmas", 1)
    paired = last.selected_against.difference
    assert paired.value == pytest.approx(2 / 3)  # 1, 1, 1 against 1, 0, 0
    assert paired.p == pytest.approx(0.5)  # of 2² patterns ++ and --
    assert (paired.problems, paired.better, paired.worse) == (3, 2, 0)
    tries = last.pass_at_1_against.difference
    assert tries.value == pytest.approx((1 + 0.75 + 0.25 - 0.75 - 0.25 - 0) / 3)
    assert found(entries, "self_consistency", 1).selected_against is None


def test_chances_are_corrected_for_all_differences_of_a_table(compared):
    entries = compared(VOTING, TMAS).by_iterations
    chances = {e.at: e.selected_against for e in entries if e.selected_against}
    assert (chances[0].difference.p, chances[1].difference.p) == (1.0, 0.5)
    assert (chances[0].holm, chances[1].holm) == (1.0, 1.0)


def test_at_equal_tokens_votes_have_what_the_method_had(compared):
    entries = compared(VOTING, TMAS, tokens=[300]).by_tokens
    assert sorted({e.at for e in entries}) == [300, 400, 800, 1600]
    few = found(entries, "self_consistency", 300)
    assert (few.candidates, few.paid, few.spent.tokens) == (3, 3, 900)
    # p1: all triples of +++a are right; p2: no triple of aab+ but ab+, twice, a tie of three
    assert few.selected.value == pytest.approx((1 + (2 / 4) / 3 + 0) / 3)
    assert found(entries, "tmas", 400).selected is None
    assert found(entries, "tmas", 800).iteration == 0
    assert found(entries, "tmas", 1600).iteration == 1
    pool = found(entries, "self_consistency", 1600)
    assert (pool.candidates, pool.paid) == (4, 16)
    against = found(entries, "tmas", 1600).selected_against.difference
    assert against.value == pytest.approx(1 - pool.selected.value)


def test_a_pool_that_is_smaller_than_the_budget_is_said(compared):
    notes = compared(VOTING, TMAS).notes
    assert "pool of 4 only: where more are paid for, k stays 4" in notes
    assert any(n.startswith("tmas: where nothing stands, its first iteration costs") for n in notes)


def test_without_self_consistency_the_first_samples_vote(compared):
    made = compared(TMAS, RSE)
    votes = found(made.by_tokens, "self_consistency (samples of tmas)", 800)
    assert (votes.candidates, votes.paid) == (4, 4)
    assert votes.selected_against.difference.problems == 3
    assert any("4 samples of tmas, the plain ones" in note for note in made.notes)


def test_budgets_are_what_the_base_had_spent(compared):
    made = compared(TMAS, RSE, base="rse")
    assert sorted({e.at for e in made.by_tokens}) == [200, 400]


def test_problems_that_not_both_have_are_counted(compared):
    made = compared(TMAS, RSE)
    assert found(made.by_iterations, "rse", 0).selected_against.difference.problems == 2
    assert found(made.by_iterations, "rse", 0).problems == 3
    assert (
        "rse against tmas: 2 problems (p3, p4): only one of them has rows, "
        "so they are left out of the difference"
    ) in made.notes


def test_methods_that_sampled_otherwise_are_said(tmp_path):
    hot = {"rse": {"temperature": 1.0, "model": "tiny"}}
    paths = [folder(tmp_path / "a", TMAS), folder(tmp_path / "b", RSE, methods=hot)]
    made = compare(unite([load(path) for path in paths]))
    assert "rse against tmas: sampled otherwise: temperature (None / 1.0)" in made.notes


def test_many_iterations_are_shown_where_the_paper_shows_them(compared):
    long = rows("rse", {"p1": ["+"] * 25})
    shown = compared(TMAS, long).by_iterations
    assert sorted({e.at for e in shown}) == [0, 1, 3, 9, 11, 17, 19, 24]
    chosen = compared(TMAS, long, iterations=[5, 2]).by_iterations
    assert [e.at for e in chosen] == [2, 2, 5, 5]
    assert chosen[0].held == 3
    few = compared(TMAS, long, most=8)
    assert sorted({e.at for e in few.by_iterations}) == [0, 3, 17, 24]
    assert "4 of 25 iterations are shown: --iterations says which, or all" in few.notes
    every = compared(TMAS, long, iterations=None)
    assert sorted({e.at for e in every.by_iterations}) == list(range(25))
    assert not any("are shown" in note for note in every.notes)


def test_where_no_tokens_were_counted_there_is_nothing_at_equal_tokens(compared):
    free = rows("rse", {"p1": ["+a"]}, spend={"solution": Usage(2)})
    made = compared(free, rows("pacore", {"p1": ["+a"]}, spend={}))
    assert made.by_tokens == ()
    assert any(note.startswith("at equal tokens: no endpoint") for note in made.notes)


@pytest.mark.parametrize(
    ("parts", "options", "said"),
    [
        ((TMAS, RSE), {"base": "tnas"}, "no rows of 'tnas' (did you mean 'tmas'?)"),
        ((TMAS, rows("rse", {"x": ["+"]})), {}, "has no problem in common with another method"),
        ((TMAS, RSE), {"iterations": [2]}, "no method has an iteration 2. They are 0 to 1"),
    ],
)
def test_what_cant_be_compared_is_said(compared, parts, options, said):
    with pytest.raises(SettingsError) as caught:
        compared(*parts, **options)
    assert said in str(caught.value)
