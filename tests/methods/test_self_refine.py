"""Self-refine: who sees what, how many calls, when a chain stops, and which version answers."""

import pytest
from endpoints.reasoner import Reasoner, markers
from rival import endpoint, solved

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]
NEVER_CONTENT = Reasoner(scores_of_right=(0, 1, 0), scores_of_wrong=(0, 1, 1)).short()


def versions(*checks: str):
    """Version k answers k; its critique is the k-th of `checks`, later ones the last."""
    told = []

    def script(request, choice):
        if request.agent == "solution":
            told.append(request)
            return rf"SOL-{len(told):012x} \boxed{{{len(told)}}}"
        number = int(min(markers("SOL", request.text))[4:], 16)
        return f"VER-{number:012x} " + checks[min(number, len(checks)) - 1]

    return script


async def test_calls():
    async with endpoint(script=NEVER_CONTENT) as at:
        result = await solved("self-refine", at)
        assert len(at.requests) == 4 * (1 + 2 * 2)
        assert [s.depth for s in result.standings] == [2, 2, 1]
    async with endpoint(script=NEVER_CONTENT) as at:
        await solved("self-refine", at, methods={"self_refine": {"choose": "best"}})
        assert len(at.requests) == 4 * 2 * 3


async def test_a_version_sees_the_one_before_it_and_its_critique_alone():
    async with endpoint(script=versions(r"Bad. \boxed{0}")) as at:
        await solved("self-refine", at, candidates=1)
        first, *others = at.asked("solution")
        assert not markers("SOL", first.text)
        for number, request in enumerate(others, 1):
            assert markers("SOL", request.text) == {f"SOL-{number:012x}"}
            assert markers("VER", request.text) == {f"VER-{number:012x}"}


@pytest.mark.parametrize(("choose", "answer"), [("last", "3"), ("best", "2")])
async def test_the_last_version_answers_or_the_best(choose, answer):
    checks = (r"Bad. \boxed{0}", r"Nearly. \boxed{0.5}", r"Bad. \boxed{0}")
    async with endpoint(script=versions(*checks)) as at:
        given = {"self_refine": {"choose": choose}}
        result = await solved("self-refine", at, candidates=1, methods=given)
    assert result.answer == answer


async def test_a_chain_stops_on_a_verdict_and_the_others_go_on():
    def script(request, choice):
        if request.agent == "solution":
            return (
                rf"\boxed{{{request.seed}}}" if request.role == "solution_initial" else r"\boxed{5}"
            )
        return r"Right. \boxed{1}" if r"\boxed{5}" in request.text else r"No. \boxed{0}"

    async with endpoint(script=script) as at:
        result = await solved("self-refine", at, iterations=5)
        assert (result.stop, result.iterations, result.answer) == ("confident", 2, "5")
        assert len(at.requests) == 4 * 4


async def test_a_version_that_is_cut_leaves_the_one_before():
    from rival import cut  # noqa: PLC0415

    script = versions(r"Bad. \boxed{0}")

    def cut_later(request, choice):
        reply = script(request, choice)
        if request.role != "solution_refine":
            return reply
        from endpoints.protocol import ScriptedReply  # noqa: PLC0415

        return cut(ScriptedReply(text=reply))

    async with endpoint(script=cut_later) as at:
        result = await solved("self-refine", at, candidates=1)
    assert [a.outcome for a in result.attempts] == ["finished", "truncated", "truncated"]
    assert result.answer == "1"
