"""Debate: each agent hears the others' last answers, condensed where they are long."""

import pytest
from endpoints.reasoner import markers
from rival import QUESTION, SHORT, cut, endpoint, saying, solved

from tmas_graph import Problem
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import seed_of

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


def parts(request) -> tuple[frozenset[str], frozenset[str]]:
    """The solutions in a prompt: the agent's own, and the others'."""
    own, _, others = request.text.partition("# What the others say")
    return markers("SOL", own), markers("SOL", others)


def by_agent(requests):
    return sorted(requests, key=lambda r: r.seed)


def seeds(iteration: int, agents: int) -> list[int]:
    name = Problem(QUESTION).id
    return [seed_of(0, Place(name, iteration, "solution", i)) for i in range(agents)]


async def test_calls():
    async with endpoint() as at:
        result = await solved("debate", at)
        assert len(at.requests) == result.usage.calls == 3 * 2
    assert (result.iterations, [s.depth for s in result.standings]) == (2, [1, 1])


async def test_an_agent_sees_its_own_last_answer_and_the_others():
    async with endpoint() as at:
        await solved("debate", at, methods={"debate": {"agents": 4, "rounds": 3}})
        rounds = [by_agent(at.requests[begin : begin + 4]) for begin in (0, 4, 8)]
    said = [[markers("SOL", r.replies[0].text) for r in requests] for requests in rounds]
    assert not any(markers("SOL", r.text) for r in rounds[0])
    for before, requests in zip(said, rounds[1:], strict=False):
        for agent, request in enumerate(requests):
            others = frozenset().union(*(m for i, m in enumerate(before) if i != agent))
            assert parts(request) == (before[agent], others)


async def test_long_answers_are_condensed_for_each_agent():
    text = "x" * 600
    script = saying(*[rf"SOL {text} \boxed{{1}}"] * 6, check=f"SUM-{'a' * 12} They agree.")
    async with endpoint(script=script) as at:
        result = await solved("debate", at, rollouts_tokens=300)
        assert len(at.requests) == 3 + 3 + 3
        for request in at.asked("summary"):
            assert request.text.count(text) == 2
        for request in at.asked("solution_debate"):
            assert request.text.count(text) == 1, "its own"
            assert markers("SUM", request.text)
    assert [s.depth for s in result.standings] == [1, 2]


async def test_where_the_condensed_text_is_cut_those_answers_are_shown_that_fit():
    text = "x" * 600

    def script(request, choice):
        reply = SHORT(request, choice)
        return cut(reply) if request.agent == "summary" else rf"{text} \boxed{{1}}"

    async with endpoint(script=script) as at:
        await solved("debate", at, rollouts_tokens=300)
        assert {r.text.count(text) for r in at.asked("solution_debate")} == {2}
        assert not any(markers("SUM", r.text) for r in at.requests)


async def test_most_of_the_last_round_win():
    texts = [rf"\boxed{{{x}}}" for x in "111223"]
    async with endpoint(script=saying(*texts)) as at:
        result = await solved("debate", at)
    assert (result.answer, result.confidence) == ("2", pytest.approx(2 / 3))


async def test_an_agent_whose_reply_was_lost_is_heard_with_the_one_before():
    lost = seeds(1, 3)[2]
    async with endpoint(fail=lambda r: 503 if r.seed == lost else None) as at:
        result = await solved("debate", at, methods={"debate": {"rounds": 3}})
        by_seed = {r.seed: r for r in at.requests}
    first, second, third = ([by_seed[s] for s in seeds(t, 3)] for t in range(3))
    before = markers("SOL", first[2].replies[0].text)
    for agent in (0, 1):
        other = markers("SOL", second[1 - agent].replies[0].text)
        assert parts(third[agent])[1] == before | other
    assert parts(third[2])[0] == before
    assert [a.outcome for a in result.attempts].count("failed") == 1


async def test_an_agent_alone_reconsiders_its_answer():
    async with endpoint() as at:
        await solved("debate", at, methods={"debate": {"agents": 1}})
        first, second = at.requests
        assert parts(second) == (markers("SOL", first.replies[0].text), frozenset())
