"""RSE: what rollouts are distilled into, what the bank takes in, and what candidates see of it."""

import pytest
from endpoints.reasoner import markers
from rival import SHORT, cut, endpoint, solved

from tmas_graph.memory.items import Item
from tmas_graph.methods.rse import as_published, items_of
from tmas_graph.state import Rollout

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
CLAIM = "- [conclusion] In every such triangle the largest angle is {} times the smallest angle."


def noting(*lines: str):
    """A script whose distillations are `lines`, in the order in which they are asked for."""
    turn = iter(lines)

    def script(request, choice):
        return next(turn) if request.agent == "experience" else SHORT(request, choice)

    return script


def system(request) -> str:
    [text] = [m["content"] for m in request.messages if m["role"] == "system"]
    return text


async def test_calls():
    async with endpoint() as at:
        result = await solved("rse", at)
        assert len(at.asked("solution")) == 4 * 3
        assert len(at.asked("experience")) == 4 * 2
        assert len(at.requests) == result.usage.calls == 20
    assert [s.depth for s in result.standings] == [2, 2, 1]


async def test_each_rollout_is_distilled_by_itself():
    async with endpoint() as at:
        await solved("rse", at)
        written = {m for r in at.asked("solution") for m in markers("SOL", r.replies[0].text)}
        seen = [markers("SOL", r.text) for r in at.asked("experience")]
    assert len(set(seen)) == 8
    assert all(len(some) == 1 and some <= written for some in seen)


async def test_candidates_see_the_bank_in_the_system_message_and_no_solution():
    async with endpoint() as at:
        await solved("rse", at)
        told, previous = at.asked("experience"), frozenset()
        for t, begin in enumerate((0, 4)):
            replies = [r.replies[0].text for r in told[begin : begin + 4]]
            lines = [line for text in replies for line in text.split("\n")]
            kept = [line for line in lines if "[technique]" not in line]
            previous |= frozenset().union(*(markers("EXP", line) for line in kept))
            readers = at.asked("solution_guided")[4 * t : 4 * t + 4]
            assert {markers("EXP", system(r)) for r in readers} == {previous}
            assert {markers("EXP", r.text) for r in readers} == {previous}
    assert not any(markers("SOL", r.text) for r in at.asked("solution"))


async def test_pitfalls_are_to_be_avoided_first_and_propositions_to_be_verified():
    script = noting("- [conclusion] n is even.\n- [pitfall] Dividing by n fails for 0.")
    async with endpoint(script=script) as at:
        await solved("rse", at, candidates=1, iterations=2)
        text = system(at.asked("solution_guided")[0])
    parts = ("strictly avoid", "- Dividing by n fails for 0.", "verify each", "- n is even.")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


async def test_a_bank_of_one_kind_has_one_heading():
    async with endpoint(script=noting("- [conclusion] n is even.")) as at:
        await solved("rse", at, candidates=1, iterations=2)
        text = system(at.asked("solution_guided")[0])
    assert ("strictly avoid" in text, "verify each" in text) == (False, True)


async def test_an_empty_bank_leaves_the_problem_alone():
    async with endpoint(script=noting("NONE", "Nothing comes to mind.")) as at:
        await solved("rse", at, candidates=2, iterations=2)
        assert len(at.asked("solution_initial")) == 4


@pytest.mark.parametrize(("merge", "kept"), [("guards", 2), ("published", 1)])
async def test_other_numbers_are_other_items_but_as_published(merge, kept):
    async with endpoint(script=noting(CLAIM.format(3), CLAIM.format(4))) as at:
        given = {"rse": {"merge": merge}}
        await solved("rse", at, candidates=2, iterations=2, methods=given)
        texts = {system(r) for r in at.asked("solution_guided")}
    assert {text.count("In every such triangle") for text in texts} == {kept}


async def test_what_the_bank_says_already_is_taken_in_once():
    notes = ["- [conclusion] The sum is even."] * 3 + ["- [conclusion] the sum is even"]
    async with endpoint(script=noting(*notes)) as at:
        await solved("rse", at, candidates=2)
        assert {system(r).count("sum is even") for r in at.asked("solution_guided")} == {1}


async def test_the_oldest_items_are_left_out_first():
    old, new = (f"- [conclusion] {word} {'x' * 110}." for word in ("First", "Second"))
    async with endpoint(script=noting(old, new)) as at:
        await solved("rse", at, candidates=1, experience_tokens=50)
        assert ["First" in system(r) for r in at.asked("solution_guided")] == [True, False]
        assert "Second" in system(at.asked("solution_guided")[1])


async def test_the_last_line_of_a_cut_distillation_is_dropped():
    def script(request, choice):
        reply = SHORT(request, choice)
        if request.agent != "experience":
            return reply
        return cut(type(reply)(text="- [conclusion] n is even.\n- [pitfall] Never div"))

    async with endpoint(script=script) as at:
        await solved("rse", at, candidates=1, iterations=2)
        text = system(at.asked("solution_guided")[0])
    assert "n is even" in text
    assert "Never div" not in text


async def test_a_rollout_that_was_cut_is_not_distilled():
    def script(request, choice):
        reply = SHORT(request, choice)
        return cut(reply) if request.agent == "solution" else reply

    async with endpoint(script=script) as at:
        result = await solved("rse", at, iterations=2)
        assert not at.asked("experience")
    assert {a.outcome for a in result.attempts} == {"truncated"}


async def test_most_of_the_last_iteration_win():
    turn = iter("11112223")

    def script(request, choice):
        return rf"\boxed{{{next(turn)}}}" if request.agent == "solution" else "NONE"

    async with endpoint(script=script) as at:
        result = await solved("rse", at, iterations=2)
    assert (result.answer, result.confidence) == ("2", 0.75)


def conclusion(text: str) -> Item:
    return Item("conclusion", text)


async def test_as_published_new_and_long_items_stay():
    long, part, other = conclusion("a b c"), conclusion("a b"), conclusion("z")
    old, pitfall = conclusion("a b c d"), Item("pitfall", "a b")
    vectors = {
        "a b c": (1.0, 0.0), "a b": (0.0, 1.0), "z": (-0.8, 0.6), "a b c d": (0.9, 0.44)
    }  # fmt: skip
    assert as_published([part, other, long], [old, pitfall], vectors) == (long, other, pitfall)


@pytest.mark.parametrize(("cosine", "kept"), [(0.81, 1), (0.8, 2)])
async def test_as_published_a_cosine_above_0_8_is_the_same(cosine, kept):
    vectors = {"one": (1.0, 0.0), "two": (cosine, (1 - cosine**2) ** 0.5)}
    assert len(as_published([conclusion("one"), conclusion("two")], (), vectors)) == kept


async def test_techniques_are_no_items_of_this_bank():
    said = "- [technique] Induct.\n- [pitfall] It fails at 0.\nProse.\n- [conclusion] $\\frac12$"
    rollout = Rollout(0, 0, "initial", "s", summary=said)
    assert items_of([rollout, Rollout(0, 1, "initial")]) == [
        Item("pitfall", "It fails at 0."),
        Item("conclusion", "$\\frac12$"),
    ]
