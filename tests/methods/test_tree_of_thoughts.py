"""Tree of thoughts: steps, values, the best that are kept, and leaves."""

import pytest
from endpoints.reasoner import Reasoner, markers
from rival import endpoint, solved

from tmas_graph.methods.tree_of_thoughts import best_of, is_leaf, value, value_of
from tmas_graph.models.replies import Reply
from tmas_graph.state import Problem, Rollout, Verification

REASONER = Reasoner().short()
TREE = {"tree_of_thoughts": {"breadth": 2, "children": 3, "depth": 3, "values": 2}}


def growing(request, choice):
    """A step is a marker, and from the third on an answer; a step's own digest is its value."""
    if request.role == "value":
        return REASONER(request, choice)
    mark = request.draw(choice)[:12]
    done = len(markers("SOL", request.text)) == 2
    return f"SOL-{mark} goes on" + (r", so \boxed{7}" if done else ".")


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_calls_and_who_sees_what():
    async with endpoint(script=growing) as at:
        result = await solved("tree-of-thoughts", at, methods=TREE)
        steps, values = at.asked("solution_step"), at.asked("value")
        assert (len(steps), len(values)) == (3 + 6 + 6, 15)
        assert [len(markers("SOL", r.text)) for r in steps] == [0] * 3 + [1] * 6 + [2] * 6
        assert all(r.n == 2 for r in values)
        parents = {frozenset(markers("SOL", r.text)) for r in steps[3:9]}
        assert len(parents) == 2
        assert not any(markers("VER", r.text) for r in at.requests)
    assert (result.answer, result.iterations, result.stop) == ("7", 3, "iterations")
    assert result.solution.count("SOL-") == 3
    assert {a.answer for a in result.attempts} == {None, "7"}


@pytest.mark.anyio
@pytest.mark.usefixtures("pooled")
async def test_the_answer_is_that_of_the_best_leaf():
    turn = iter("123")

    def script(request, choice):
        if request.role == "value":
            return r"\boxed{sure}" if r"\boxed{2}" in request.text else r"\boxed{likely}"
        return rf"So \boxed{{{next(turn)}}}"

    async with endpoint(script=script) as at:
        result = await solved("tree-of-thoughts", at, methods=TREE)
    assert (result.answer, result.iterations, result.score) == ("2", 1, 1.0)


def node(text: str, *scores: float | None) -> Rollout:
    return Rollout(
        0, 0, "initial", summary=text, verifications=tuple(Verification("", s) for s in scores)
    )


def test_values_are_summed_as_published_and_unread_ones_add_nothing():
    assert value(node("a", 1.0, 0.5, None)) == pytest.approx(21)
    assert value(node("a", 0.0, 0.0)) == pytest.approx(0.002)
    assert value(node("a", None, None)) == 0


def test_the_best_are_kept_each_text_once():
    a, b, c = node("a", 0.5), node("b", 1.0), node("c", 0.0)
    assert best_of([c, a, b, node("b", 1.0)], 2) == [b, a]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (r"\boxed{sure}", 1.0),
        (r"So \boxed{\text{Likely}}.", 0.5),
        (r"\boxed{impossible}", 0.0),
        (r"It is impossible to be sure.", None),
        (r"\boxed{sure", None),
        ("", None),
    ],
)
def test_a_value_is_read_from_its_box_alone(text, score):
    assert value_of(Reply(text)).score == score
    assert value_of(Reply(text, finish_reason="length")).score is None


@pytest.mark.parametrize(
    ("kind", "step", "leaf"),
    [
        ("answer", r"So \boxed{3}", True),
        ("answer", "The answer is 3.", False),
        ("proof", "Hence it holds.\nQED", True),
        ("proof", "QED follows once we show this.", False),
        ("proof", r"So \boxed{3}", False),
    ],
)
def test_a_leaf_is_told_by_its_end(kind, step, leaf):
    assert is_leaf(step, Problem("Q", kind=kind)) is leaf
