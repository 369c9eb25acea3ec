"""Chain of thought, self-consistency and best-of-N: what is asked, and which answer is chosen."""

import pytest
from endpoints.reasoner import markers
from rival import QUESTION, endpoint, saying, settings, solved

from tmas_graph.errors import AllCandidatesFailed

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
SAMPLERS = ("chain-of-thought", "self-consistency", "best-of-n")


@pytest.mark.parametrize(
    ("method", "solutions", "checks"),
    [("chain-of-thought", 1, 0), ("self-consistency", 4, 0), ("best-of-n", 4, 4)],
)
async def test_calls(method, solutions, checks):
    async with endpoint() as at:
        result = await solved(method, at)
        assert len(at.asked("solution_initial")) == solutions
        assert len(at.asked("verification")) == checks
        assert len(at.requests) == result.usage.calls == solutions + checks
        assert result.iterations == 1
        assert [s.depth for s in result.standings] == [2 if checks else 1]


@pytest.mark.parametrize("method", SAMPLERS)
async def test_candidates_see_the_problem_alone_and_checks_their_candidate(method):
    async with endpoint() as at:
        await solved(method, at)
        for request in at.requests:
            assert QUESTION in request.text
            assert len(markers("SOL", request.text)) == (request.agent == "verification")
            assert not markers("VER", request.text)


async def test_the_first_candidates_are_those_of_tmas():
    async with endpoint() as at:
        await solved("tmas", at, iterations=1)
        ours = {r.digest for r in at.asked("solution")}
        for method in SAMPLERS:
            at.requests.clear()
            await solved(method, at)
            assert {r.digest for r in at.asked("solution")} <= ours


async def test_most_votes_win_whatever_their_spelling():
    texts = [rf"\boxed{{{x}}}" for x in (r"\frac{1}{2}", "0.5", "3", "3.0", r"\frac12")]
    async with endpoint(script=saying(*texts)) as at:
        result = await solved("self-consistency", at, candidates=5, concurrency=1)
    assert result.answer in (r"\frac{1}{2}", "0.5", r"\frac12")
    assert result.confidence == pytest.approx(3 / 5)
    assert len(result.attempts) == 5


def scoring(*, right: int):
    """Answers 1 1 1 2 in the order of arrival; the checks score 0.5, but `right` ones of 2."""
    turn = iter("1112")

    def script(request, choice):
        if request.agent == "solution":
            return rf"So \boxed{{{next(turn)}}}"
        return r"Score: \boxed{1}" if r"\boxed{2}" in request.text else r"Score: \boxed{0.5}"

    return script


@pytest.mark.parametrize(("choose", "answer"), [("best", "2"), ("weighted", "1")])
async def test_best_of_n_takes_the_best_score_or_the_largest_sum(choose, answer):
    async with endpoint(script=scoring(right=1)) as at:
        result = await solved("best-of-n", at, methods={"best_of_n": {"choose": choose}})
    assert result.answer == answer


async def test_a_proof_is_the_best_scored_one():
    from tmas_graph import Problem, asolve  # noqa: PLC0415

    async with endpoint() as at:
        problem = Problem(QUESTION, kind="proof")
        result = await asolve(problem, settings(at), method="best-of-n")
    assert result.answer is None
    assert result.score == max(a.score for a in result.attempts if a.score is not None)
    assert markers("SOL", result.solution)


@pytest.mark.parametrize("method", SAMPLERS)
async def test_when_all_fail_the_cause_is_told(method):
    async with endpoint(fail=lambda r: 503) as at:
        with pytest.raises(AllCandidatesFailed, match="HTTP 503"):
            await solved(method, at)


async def test_a_failed_candidate_is_counted_and_the_others_go_on():
    failing = []

    def first(request):
        failing.append(request.seed)
        return 500 if request.seed == failing[0] else None

    async with endpoint(fail=first) as at:
        result = await solved("best-of-n", at)
    assert sorted(a.outcome for a in result.attempts) == ["failed"] + ["finished"] * 3
    assert result.answer


async def test_a_budget_ends_it_with_the_best_so_far():
    async with endpoint() as at:
        result = await solved("best-of-n", at, max_calls=4, concurrency=1)
        checked = len(at.requests) - 4
        assert 0 < checked < 4
    assert (result.stop, result.iterations, result.standings) == ("budget", 0, ())
    outcomes = sorted(a.outcome for a in result.attempts)
    assert outcomes == ["finished"] * checked + ["halted"] * (4 - checked)
    assert result.answer
    assert result.score is not None
