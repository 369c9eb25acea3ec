"""Verify-refine: the pool, which reviews a refinement sees, and when a mean of 1 is enough."""

import pytest
from endpoints.reasoner import Reasoner, markers
from rival import endpoint, settings, solved

from tmas_graph.methods.verify_refine import (
    is_settled,
    ranked,
    self_graded,
    self_score,
    worst_first,
)
from tmas_graph.state import Problem, Rollout, Verification

NEVER_RIGHT = Reasoner(scores_of_right=(0, 1, 1), scores_of_wrong=(0, 1, 1)).short()
GRADED = "SOL. So \\boxed{4}\n\nSelf-assessment: step 2 is shaky, see \\boxed{9}.\nSelf-score: 0.5"


def rollout(solution: str, *scores: float | None, says: str = "") -> Rollout:
    checks = tuple(Verification(f"v{i}", score) for i, score in enumerate(scores))
    return Rollout(0, 0, "initial", solution, verifications=checks, summary=says)


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
@pytest.mark.parametrize(("meta", "calls"), [(False, 3 * 4 * 2), (True, 3 * 4 * (2 + 3))])
async def test_calls(meta, calls):
    given = {"verify_refine": {"meta_verification": meta}}
    async with endpoint(script=NEVER_RIGHT) as at:
        result = await solved("verify-refine", at, methods=given)
        assert len(at.requests) == result.usage.calls == calls  # the checks of one are one request
        assert [s.depth for s in result.standings] == [2 + meta] * 3


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_a_refinement_sees_one_solution_with_its_worst_reviews():
    async with endpoint(script=NEVER_RIGHT) as at:
        given = {"verify_refine": {"reviews_shown": 2}}
        await solved("verify-refine", at, methods=given)
        said = {
            reply.text: markers("SOL", request.text)
            for request in at.asked("verification")
            for reply in request.replies
        }
        for request in at.asked("solution_refine"):
            assert len(markers("SOL", request.text)) == 1
            shown = [text for text in said if text in request.text]
            assert len(shown) == 2
            assert all(said[text] == markers("SOL", request.text) for text in shown)
        first = at.asked("solution")[:4]
        assert not any(markers("SOL", request.text) for request in first)


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_a_review_that_an_audit_refutes_is_shown_to_nobody():
    def script(request, choice):
        if request.role == "audit":
            return r"It invents that. \boxed{0}" if "VER-bad" in request.text else r"\boxed{1}"
        if request.agent == "verification":
            return r"VER-bad \boxed{0}" if choice == 0 else r"VER-real \boxed{0.5}"
        return GRADED

    given = {"verify_refine": {"meta_verification": True}}
    async with endpoint(script=script) as at:
        result = await solved("verify-refine", at, candidates=1, iterations=2, methods=given)
        [request] = at.asked("solution_refine")
        assert "VER-real" in request.text
        assert "VER-bad" not in request.text
    assert result.score == pytest.approx(1 / 3), "an audit enters no mean"


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_a_mean_of_1_ends_the_run():
    right = Reasoner(scores_of_right=(1, 0, 0), chance=1.0).short()
    async with endpoint(script=right) as at:
        result = await solved("verify-refine", at, iterations=10)
        assert (result.stop, result.iterations, result.score) == ("confident", 1, 1.0)


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_what_a_writer_says_of_itself_reaches_no_reviewer_and_is_no_answer():
    async with endpoint(script=lambda r, _: GRADED if r.agent == "solution" else "?") as at:
        result = await solved("verify-refine", at)
        assert result.answer == "4"
        assert not any("Self-assessment: step 2" in r.text for r in at.asked("verification"))
        assert not any("Self-assessment: step 2" in r.text for r in at.asked("solution"))


def test_a_self_assessment_is_read_and_a_missing_one_is_below_0():
    graded = self_graded(rollout(GRADED), Problem("Q"))
    assert (graded.solution, graded.answer, self_score(graded)) == ("SOL. So \\boxed{4}", "4", 0.5)
    plain = self_graded(rollout(r"\boxed{3}"), Problem("Q"))
    assert (plain.solution, self_score(plain)) == (r"\boxed{3}", -1.0)
    assert self_graded(rollout("Self-assessment: all"), Problem("Q")).solution


def test_the_pool_holds_equal_texts_once_the_best_mean_first_then_the_best_self_score():
    good, fair = rollout("a", 1, 1), rollout("b", 0.5, 0.5, says="Self-score: 1")
    modest, unread = rollout("c", 0.5, 0.5, says="Self-score: 0"), rollout("d", None, None)
    assert ranked([unread, modest, fair, good, rollout("a", 0)]) == [good, fair, modest, unread]


def test_reviews_are_shown_worst_first_and_unreadable_ones_not():
    reviews = rollout("s", 1, None, 0, 0.5).verifications
    assert [v.score for v in worst_first(reviews)] == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("scores", "settled"),
    [([1, 1, 1], True), ([1, 1, None], False), ([1, 1, 0.5], False), ([None] * 3, False)],
)
def test_a_mean_of_1_needs_enough_reviews(scores, settled):
    at = settings(type("At", (), {"base_url": "http://127.0.0.1:1/v1"})())
    assert is_settled(at, rollout("s", *scores)) is settled
