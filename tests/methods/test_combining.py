"""All methods whose candidates draw on others: failures, budgets, bytes and contexts."""

from dataclasses import replace

import pytest
from endpoints.protocol import Request, ScriptedReply
from endpoints.reasoner import Reasoner
from langgraph.checkpoint.memory import InMemorySaver
from rival import QUESTION, SHORT, endpoint, settings, solved

from tmas_graph import Problem
from tmas_graph.errors import AllCandidatesFailed, CallError
from tmas_graph.methods import find
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of
from tmas_graph.running import follow

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
METHODS = ("pacore", "rse", "rsa", "pdr", "debate")
FIRST = {"pacore": 4, "rse": 8, "rsa": 4, "pdr": 8, "debate": 3}
"""Calls of the first iteration."""
TEX = r"\frac{\beta}{\text{a}} \sum_{i} \right\} \n \u00e9 {{ x }} {% if %} {# #} $1 é"


def first_seeds(method: str) -> list[int]:
    """The seeds of the first iteration's solutions."""
    places = (Place(Problem(QUESTION).id, 0, "solution", i) for i in range(8))
    return [seed_of(0, place) for place in places]


@pytest.mark.parametrize("method", METHODS)
async def test_the_first_candidates_are_those_of_tmas(method):
    async with endpoint() as at:
        await solved("tmas", at, iterations=1, candidates=8)
        ours = {r.digest for r in at.asked("solution")}
        at.requests.clear()
        result = await solved(method, at)
        first = {r.digest for r in at.asked("solution_initial")}
    assert first <= ours
    assert len(first) == len([a for a in result.attempts if a.iteration == 0])


@pytest.mark.parametrize("method", METHODS)
async def test_a_failed_candidate_is_counted_and_the_others_go_on(method):
    lost = first_seeds(method)[1]
    async with endpoint(fail=lambda r: 503 if r.seed == lost else None) as at:
        result = await solved(method, at)
    outcomes = [a.outcome for a in result.attempts]
    assert outcomes[:3] == ["finished", "failed", "finished"]
    assert outcomes.count("failed") == 1
    assert result.answer


@pytest.mark.parametrize("method", METHODS)
async def test_when_all_fail_the_cause_is_told(method):
    async with endpoint(fail=lambda r: 503) as at:
        with pytest.raises(AllCandidatesFailed, match="HTTP 503"):
            await solved(method, at)


@pytest.mark.parametrize("method", METHODS)
async def test_when_all_fail_later_it_goes_on_from_there(method):
    async with endpoint(fail=lambda r: None if r.role == "solution_initial" else 503) as at:
        given = settings(at)
        workflow = find(method).build(InMemorySaver())
        config = {"configurable": {"thread_id": "1"}}
        with pytest.raises((AllCandidatesFailed, CallError), match="HTTP 503"):
            await follow(workflow, {"problem": QUESTION}, config, given)
        asked = len(at.requests)
        at.change(fail=None)
        result = await follow(workflow, None, config, given)
        assert not [r for r in at.requests[asked:] if r.role == "solution_initial"]
    assert result.answer
    assert {a.outcome for a in result.attempts} == {"finished"}


@pytest.mark.parametrize("method", METHODS)
async def test_where_no_candidate_came_through_the_next_ones_begin_anew(method):
    nothing = set(first_seeds(method))

    def script(request: Request, choice: int) -> ScriptedReply:
        reply = SHORT(request, choice)
        return replace(reply, text=None) if request.seed in nothing else reply

    async with endpoint(script=script) as at:
        result = await solved(method, at)
        second = [a for a in result.attempts if a.iteration == 1]
        initial = at.asked("solution_initial")
        assert len(initial) == len([a for a in result.attempts if a.iteration == 0]) + len(second)
    assert {a.mode for a in second} == {"initial"}
    assert result.answer


@pytest.mark.parametrize("method", METHODS)
async def test_a_budget_ends_it_with_the_answer_of_the_last_whole_iteration(method):
    async with endpoint() as at:
        result = await solved(method, at, max_calls=FIRST[method], concurrency=1)
        assert len(at.requests) == FIRST[method]
    assert (result.stop, result.iterations) == ("budget", 1)
    assert result.answer == result.standings[0].answer
    assert result.answer


@pytest.mark.parametrize("method", METHODS)
async def test_mathematics_is_carried_byte_for_byte(method):
    def script(request: Request, choice: int) -> str:
        return f"- [conclusion] {TEX}" if request.agent == "experience" else rf"{TEX} \boxed{{1}}"

    async with endpoint(script=script) as at:
        await solved(method, at)
        later = [r for r in at.requests if r.role != "solution_initial"]
        assert later
        assert all(TEX in r.text for r in later)
        assert all(QUESTION in r.text for r in at.requests)


@pytest.mark.parametrize("method", METHODS)
async def test_thinking_is_shown_to_nobody(method):
    async with endpoint(thinking="inline") as at:
        result = await solved(method, at)
        assert any("THINK-" in reply.thinking for r in at.requests for reply in r.replies)
        assert not any("THINK-" in r.text for r in at.requests)
    assert result.answer


@pytest.mark.parametrize("method", METHODS)
async def test_what_exceeds_the_context_is_cut_and_no_candidate_is_lost(method):
    limits = {"context": 2600, "max_model_len": 2600, "context_wording": "unhelpful"}
    async with endpoint(script=Reasoner(), **limits) as at:
        result = await solved(method, at, max_tokens=700)
    assert {a.outcome for a in result.attempts} == {"finished"}
    assert result.answer
