"""The solve-verify-correct loop: passes in a row, failures in a row, and a model for each role."""

import pytest
from endpoints.reasoner import markers
from rival import endpoint, solved

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


def checked(verdicts: str):
    """Version k is `SOL-k`; of the checks + passes, - fails, and ? says nothing."""
    says = {"+": r"VER. \boxed{1}", "-": r"VER-{0}. \boxed{{0.5}}", "?": "VER. Hm."}
    told, turn = [], iter(verdicts)

    def script(request, choice):
        if request.agent == "solution":
            told.append(request)
            return rf"SOL-{len(told):012x} \boxed{{{len(told)}}}"
        return says[next(turn)].replace("{0}", f"{len(told):012x}").replace("{{0.5}}", "{0.5}")

    return script


@pytest.mark.parametrize(
    ("method", "verdicts", "solutions", "stop"),
    [
        ("solve-verify-correct", "+++++", 2, "confident"),
        ("solve-verify-correct", "++++-+++++", 3, "confident"),
        ("solve-verify-correct", "++?+++", 2, "confident"),
        ("solve-verify-correct", "-" * 10, 2 + 9, "iterations"),
        ("solve-verify-correct", "-" * 9 + "+" + "-" * 10, 2 + 18, "iterations"),
        ("solve-verify-correct", "?" * 30, 2, "iterations"),
        ("marsrl", "++++", 1, "confident"),
        ("marsrl", "-+-+-+-+-+", 6, "iterations"),
    ],
)
async def test_calls(method, verdicts, solutions, stop):
    async with endpoint(script=checked(verdicts)) as at:
        result = await solved(method, at)
        assert len(at.asked("verification")) == len(verdicts)
        assert len(at.asked("solution")) == solutions
        assert (result.stop, result.answer) == (stop, str(solutions))


async def test_who_sees_what():
    async with endpoint(script=checked("-" + "+" * 5)) as at:
        await solved("solve-verify-correct", at)
        first, improved, corrected = at.asked("solution")
        assert [r.role for r in (first, improved, corrected)] == [
            "solution_initial",
            "solution_improve",
            "solution_refine",
        ]
        assert not markers("SOL", first.text)
        assert markers("SOL", improved.text) == {f"SOL-{1:012x}"}
        assert markers("SOL", corrected.text) == {f"SOL-{2:012x}"}
        assert markers("VER", corrected.text) == {f"VER-{2:012x}"}
        for number, request in enumerate(at.asked("verification")):
            assert markers("SOL", request.text) == {f"SOL-{3 if number else 2:012x}"}
            assert not markers("VER", request.text)


async def test_each_role_can_have_a_model_of_its_own():
    names = {"solution": "solver", "verification": "verifier", "summary": "corrector"}
    roles = {role: {"model": name} for role, name in names.items()}
    async with endpoint(script=checked("-++++"), models=tuple(names.values())) as at:
        await solved("marsrl", at, roles=roles, model="solver")
        asked = [r.body["model"] for r in at.requests]
    assert asked == ["solver", "verifier", "corrector"] + ["verifier"] * 4


async def test_a_budget_ends_it_with_the_last_version():
    async with endpoint(script=checked("-" * 9)) as at:
        result = await solved("marsrl", at, max_calls=5)
        assert len(at.requests) == 5
    assert (result.stop, result.iterations, result.answer) == ("budget", 2, "2")
