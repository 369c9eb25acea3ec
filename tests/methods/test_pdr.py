"""PDR: rounds of drafts, and a workspace that is made anew of the last round between them."""

import pytest
from endpoints.reasoner import markers
from rival import SHORT, cut, endpoint, saying, solved

from tmas_graph.methods.pdr import picked
from tmas_graph.models.replies import Reply

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


def workspace(kind: str, **more):
    return {"pdr": {"workspace": kind, **more}}


def written(requests):
    """The markers of the solutions that were given to `requests`."""
    return frozenset().union(*(markers("SOL", r.replies[0].text) for r in requests))


@pytest.mark.parametrize(
    ("given", "between"),
    [
        (workspace("summary"), 2),
        (workspace("top-k", kept=2), 2),
        (workspace("top-k", kept=4), 1),  # of four drafts the best four need no picking
        (workspace("random-k"), 0),
    ],
)
async def test_calls(given, between):
    async with endpoint() as at:
        result = await solved("pdr", at, methods=given)
        assert len(at.asked("solution")) == 8 + 4 + 1
        assert len(at.requests) == result.usage.calls == 13 + between
    depths = [s.depth for s in result.standings]
    assert (result.iterations, sum(depths)) == (3, 3 + between)


async def test_drafts_see_notes_on_the_last_round_alone():
    async with endpoint() as at:
        await solved("pdr", at)
        first, [one, two] = at.asked("solution_initial"), at.asked("summary")
        second, [last] = at.asked("solution_noted")[:4], at.asked("solution_noted")[4:]
    assert markers("SOL", one.text) == written(first)
    assert markers("SOL", two.text) == written(second)
    assert len(written(second)) == 4
    for notes, drafts in ((one, second), (two, [last])):
        [mark] = markers("SUM", notes.replies[0].text)
        assert {markers("SUM", r.text) for r in drafts} == {frozenset({mark})}
        assert not any(markers("SOL", r.text) for r in drafts)


async def test_drafts_see_those_that_were_picked():
    def script(request, choice):
        return r"\boxed{3, 1, 3}" if request.role == "pick" else SHORT(request, choice)

    async with endpoint(script=script) as at:
        given = workspace("top-k", kept=2, drafts=(4, 1))
        await solved("pdr", at, methods=given, concurrency=1)
        first = at.asked("solution_initial")
        [pick], [last] = at.asked("pick"), at.asked("solution_combine")
    assert markers("SOL", pick.text) == written(first)
    assert markers("SOL", last.text) == written([first[0], first[2]])


async def test_all_drafts_of_a_round_see_the_same_ones_at_random():
    async with endpoint() as at:
        await solved("pdr", at, methods=workspace("random-k", kept=3))
        first, later = at.asked("solution_initial"), at.asked("solution_combine")
        [some] = {markers("SOL", r.text) for r in later[:4]}
        assert some < written(first)
        assert len(some) == 3
        assert markers("SOL", later[4].text) < written(later[:4])


@pytest.mark.parametrize("kind", ["summary", "top-k"])
async def test_where_the_workspace_cannot_be_read_drafts_see_some_at_random(kind):
    def script(request, choice):
        reply = SHORT(request, choice)
        if request.role == "pick":
            return "The second one."
        return cut(reply) if request.agent == "summary" else reply

    async with endpoint(script=script) as at:
        await solved("pdr", at, methods=workspace(kind, kept=2))
        assert {len(markers("SOL", r.text)) for r in at.asked("solution_combine")} == {2}


async def test_notes_beyond_their_bound_are_none():
    def script(request, choice):
        return "SUM " + "x" * 900 if request.agent == "summary" else SHORT(request, choice)

    async with endpoint(script=script) as at:
        await solved("pdr", at, rollouts_tokens=300)
        assert not any("xxx" in r.text for r in at.requests)
        assert len(at.asked("solution_combine")) == 5


async def test_the_last_draft_answers():
    texts = [rf"\boxed{{{x}}}" for x in "11112"]
    async with endpoint(script=saying(*texts, check="Notes.")) as at:
        result = await solved("pdr", at, methods={"pdr": {"drafts": (4, 1)}})
    assert (result.answer, result.confidence) == ("2", 1.0)


async def test_what_the_workspace_cost_is_the_summary_roles_in_the_iteration_that_reads_it():
    async with endpoint() as at:
        result = await solved("pdr", at)
    spent = {(s.iteration, s.role): s.usage.calls for s in result.spend}
    assert spent == {
        (0, "solution"): 8,
        (1, "solution"): 4,
        (1, "summary"): 1,
        (2, "solution"): 1,
        (2, "summary"): 1,
    }


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (r"\boxed{3, 1}", [2, 0]),
        (r"First \boxed{1}. No: \boxed{2 and 4}", [1, 3]),
        (r"\boxed{0, 5, 4, 4}", [3]),
        ("3, 1", []),
        (r"\boxed{none}", []),
    ],
)
async def test_picked_numbers_are_read_from_the_last_box(text, places):
    assert picked(Reply(text), 4) == places
    assert picked(Reply(text, finish_reason="length"), 4) == []
