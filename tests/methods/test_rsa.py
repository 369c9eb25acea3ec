"""RSA: the population is replaced, each of its members aggregates K of those before."""

import pytest
from endpoints.reasoner import markers
from rival import endpoint, saying, solved

from tmas_graph.standings import Rule, voters
from tmas_graph.state import Attempt

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


def aggregated(k: int, **more):
    return {"rsa": {"aggregated": k, **more}}


async def test_calls():
    async with endpoint() as at:
        result = await solved("rsa", at)
        assert len(at.requests) == result.usage.calls == 4 * 3
    assert (result.iterations, [s.depth for s in result.standings]) == (3, [1, 1, 1])


async def test_each_sees_k_of_the_last_population_which_is_replaced():
    runs = []
    for _ in range(2):
        async with endpoint() as at:
            await solved("rsa", at, methods=aggregated(2), seed=1)
            runs.append({r.digest for r in at.requests})
            for begin in (4, 8):
                before = [markers("SOL", r.replies[0].text) for r in at.requests[begin - 4 : begin]]
                population = frozenset().union(*before)
                seen = [markers("SOL", r.text) for r in at.requests[begin : begin + 4]]
                assert len(population) == 4
                assert all(len(some) == 2 and some < population for some in seen)
                assert len(set(seen)) > 1
    assert runs[0] == runs[1]


async def test_a_population_of_fewer_than_k_is_seen_whole():
    async with endpoint() as at:
        await solved("rsa", at, candidates=3, iterations=2, methods=aggregated(8))
        assert {len(markers("SOL", r.text)) for r in at.requests[3:]} == {3}


@pytest.mark.parametrize(("choose", "answer", "share"), [("majority", "2", 0.75), ("mean", "1", 1)])
async def test_the_last_population_answers_or_one_of_it(choose, answer, share):
    texts = [rf"\boxed{{{x}}}" for x in "33331222"]
    async with endpoint(script=saying(*texts)) as at:
        given = aggregated(2, choose=choose)
        result = await solved("rsa", at, iterations=2, methods=given, concurrency=1)
    assert [a.answer for a in result.attempts][4:] == ["1", "2", "2", "2"]
    assert (result.answer, result.confidence) == (answer, pytest.approx(share))
    assert result.solution == rf"\boxed{{{answer}}}"
    assert result.standings[-1].answer == answer


async def test_the_one_that_answers_is_the_first_that_came_through():
    tried = [
        Attempt(iteration, index, "initial", outcome, str(index), None)
        for iteration in (0, 1)
        for index, outcome in enumerate(("truncated", "finished", "finished"))
    ]
    assert voters(Rule("majority", "first"), tried) == [tried[4]]
