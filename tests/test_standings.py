"""How things stood after each iteration: what the run would have answered had it ended there."""

import pytest
from rival import QUESTION, endpoint, settings

from tmas_graph import Problem, asolve
from tmas_graph.standings import Rule, chosen_by, stood, voters
from tmas_graph.state import Attempt, Outcome

RUNS = [("tmas", 4), ("self-refine", 2), ("verify-refine", 2)]


def attempt(t: int, i: int, answer: str | None, score: float | None = None) -> Attempt:
    outcome: Outcome = "finished" if answer else "truncated"
    return Attempt(t, i, "initial", outcome, answer, score)


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
@pytest.mark.parametrize("kind", ["answer", "proof"])
@pytest.mark.parametrize(("method", "depth"), RUNS)
async def test_a_standing_is_the_result_of_a_run_that_ends_there(method, depth, kind):
    problem = Problem(QUESTION, kind=kind)
    n = 1 if method == "self-refine" else 4  # whose ties are broken by critiques that aren't made
    async with endpoint() as at:
        given = settings(at, early_stop=False, candidates=n)
        whole = await asolve(problem, given, method=method)
        assert len(whole.standings) == whole.iterations
        for t, stands in enumerate(whole.standings):
            given = settings(at, early_stop=False, iterations=t + 1, candidates=n)
            ended = await asolve(problem, given, method=method)
            assert (stands.iteration, stands.answer) == (t, ended.answer)
            if not (method == "self-refine" and kind == "proof"):  # the last one isn't criticised
                assert stands.confidence == pytest.approx(ended.confidence)
            made = [a for a in whole.attempts if a.iteration <= t]
            assert [a.answer for a in made] == [a.answer for a in ended.attempts]
        assert whole.standings[0].depth == depth


def test_by_the_last_rule_those_of_the_last_iteration_that_came_to_anything_vote():
    tried = [attempt(0, 0, "1"), attempt(1, 0, "2"), attempt(1, 1, None), attempt(2, 0, None)]
    assert voters(Rule("majority", "last"), tried) == tried[1:3]
    assert voters(Rule("majority", "all"), tried) == tried
    assert voters(Rule("majority", "last"), []) == []


def test_who_stands_behind_the_choice_is_told():
    tried = [attempt(0, 0, "1", 1.0), attempt(0, 1, "2", 0.4), attempt(0, 2, "2.0", 0.5)]
    classes = (0, 1, 1)
    choice, behind = chosen_by(Rule("majority"), tried, classes)
    assert (choice.answer, behind) == ("2.0", tried[1:])
    choice, behind = chosen_by(Rule("best"), tried, classes)
    assert (choice.answer, behind) == ("1", tried[:1])


def test_a_standing_without_any_answer_knows_none_and_no_score():
    stands = stood("answer", 0, [attempt(0, 0, None)], (None,), depth=1)
    assert (stands.answer, stands.confidence, stands.score) == (None, 0.0, None)
