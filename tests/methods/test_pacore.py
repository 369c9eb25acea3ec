"""PaCoRe: each round sees the whole round before in an order of its own; a single one answers."""

import re

import pytest
from endpoints.reasoner import markers
from rival import endpoint, saying, solved

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


def rounds(*counts: int):
    return {"pacore": {"rounds": counts}}


def written(requests):
    """The markers of the solutions that were given to `requests`."""
    return frozenset().union(*(markers("SOL", r.replies[0].text) for r in requests))


async def test_one_round_of_n_and_one_that_answers():
    async with endpoint() as at:
        result = await solved("pacore", at)
        assert len(at.requests) == result.usage.calls == 5
        *first, last = at.requests
    assert markers("SOL", last.text) == written(first)
    assert (result.iterations, [s.depth for s in result.standings]) == (2, [1, 1])


async def test_a_round_sees_the_round_before_and_no_other():
    async with endpoint() as at:
        result = await solved("pacore", at, methods=rounds(4, 3))
        first, second, last = at.requests[:4], at.requests[4:7], at.requests[7:]
        assert len(last) == 1
    assert not any(markers("SOL", r.text) for r in first)
    assert {markers("SOL", r.text) for r in second} == {written(first)}
    assert markers("SOL", last[0].text) == written(second)
    assert len(written(second)) == 3
    assert [a.iteration for a in result.attempts] == [0] * 4 + [1] * 3 + [2]


async def test_each_reader_has_an_order_of_its_own_and_the_same_in_every_run():
    runs = []
    for _ in range(2):
        async with endpoint() as at:
            await solved("pacore", at, methods=rounds(4, 4), seed=3)
            readers = sorted(at.requests[4:8], key=lambda r: r.seed)
            runs.append([re.findall("SOL-[0-9a-f]{12}", r.text) for r in readers])
    assert runs[0] == runs[1]
    assert len(set(map(tuple, runs[0]))) > 1


async def test_the_single_last_one_answers():
    texts = [rf"\boxed{{{x}}}" for x in "11112"]
    async with endpoint(script=saying(*texts)) as at:
        result = await solved("pacore", at)
    assert (result.answer, result.confidence, result.solution) == ("2", 1.0, r"\boxed{2}")


async def test_what_exceeds_its_tokens_is_not_shown():
    text = "x" * 210 + r" \boxed{1}"
    async with endpoint(script=saying(*[text] * 5)) as at:
        await solved("pacore", at, rollouts_tokens=160)
        assert at.requests[-1].text.count(text) == 2
        assert at.requests[-1].text.count("## Solution") == 2
