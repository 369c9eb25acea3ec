from dataclasses import replace

import pytest
from runs_made import row, rows

from tmas_graph.evaluation.uniting import MethodRun, Setup
from tmas_graph.evaluation.voting_at_tokens import Votes, is_voting, samples_of
from tmas_graph.usage import Usage


def run(made):
    by_problem = {}
    for each in made:
        by_problem.setdefault(each.problem, []).append(each)
    ordered = {name: tuple(many) for name, many in by_problem.items()}
    return MethodRun(made[0].method, ordered, Setup())


VOTING = rows("self_consistency", {"p1": ["++a"], "p2": ["aab"]})
TMAS = rows("tmas", {"p1": ["+aaa", "++++"], "p2": ["++++", "++++"]})


def test_the_pool_of_self_consistency_goes_first_though_it_is_smaller():
    found = samples_of([run(TMAS), run(VOTING)])
    assert (found.source, found.label, found.count, found.each) == (
        "self_consistency",
        "self_consistency",
        3,
        100,
    )


def test_without_one_the_first_plain_samples_of_another_method_vote():
    checked = [
        replace(each, spend={**each.spend, "verification": Usage(9, 900, 90)}) for each in TMAS
    ]
    found = samples_of([run(rows("rse", {"p1": ["+a"]})), run(checked)])
    assert (found.source, found.label) == ("tmas", "self_consistency (samples of tmas)")
    assert (found.count, found.each, found.exact) == (4, 100, True)
    assert Votes(1, found).values == pytest.approx({"p1": 0.25, "p2": 1.0})
    assert Votes(4, found).values == pytest.approx({"p1": 0.0, "p2": 1.0})


def test_candidates_that_were_no_plain_samples_dont_vote():
    later = [replace(each, iteration=0) for each in TMAS if each.iteration == 1]
    assert samples_of([run(later)]) is None


def test_where_the_sampler_noted_no_tokens_all_roles_count():
    spend = {"writer": Usage(4, 40, 360), "judge": Usage(1, 99, 99)}
    found = samples_of([run([row("p1", "tot", 0, "++++", spend=spend)])])
    assert (found.each, found.exact) == (100, False)


def test_tokens_pay_for_whole_samples():
    found = samples_of([run(VOTING)])
    assert [found.paid_by(tokens) for tokens in (99, 100, 250, 10_000)] == [0, 1, 2, 100]
    free = [replace(each, spend={}) for each in VOTING]
    assert samples_of([run(free)]).paid_by(100) is None


def test_votes_cost_their_part_of_the_pool():
    found = Votes(2, samples_of([run(VOTING)])).spent
    assert found == Usage(4, 40, 360, cost=pytest.approx(0.004))


def test_a_problem_that_failed_is_wrong_and_makes_no_sample_dearer():
    failed = row("p3", "self_consistency", 0, "", outcome="failed", spend={"solution": Usage(9, 9)})
    found = samples_of([run([*VOTING, failed])])
    assert (found.each, Votes(3, found).values["p3"]) == (100, 0.0)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("self_consistency", True),
        ("self-consistency[candidates=64] @ b", True),
        ("tmas[self_consistency=1]", False),
    ],
)
def test_its_name_may_have_settings_and_a_label(name, is_one):
    assert is_voting(name) is is_one
