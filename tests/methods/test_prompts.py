"""The templates of the rival methods: each renders with what its method gives it, and as it was."""

import pytest

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.methods import METHODS
from tmas_graph.prompts import NAMES, Prompts
from tmas_graph.state import Problem, Verification

TEX = r"$\frac{1}{2}$ {{ x }} {% raw %} \boxed{3}"
CHECKS = Shown(verifications=(Verification(f"VER {TEX}", 0.5), Verification("", None)))
GIVEN = {
    "methods/refine": {"solution": f"SOL {TEX}", "self_graded": True},
    "methods/self_graded": {},
    "methods/audit": {"solution": f"SOL {TEX}", "review": f"VER {TEX}"},
    "methods/improve": {"solution": f"SOL {TEX}"},
    "methods/thought": {"steps": f"STEP {TEX}", "words": 120},
    "methods/value": {"steps": f"STEP {TEX}"},
}


def test_every_template_is_of_some_method_and_is_rendered_here():
    used = {name for method in METHODS.values() for name in method.prompts}
    assert used - set(NAMES) == set(GIVEN)


@pytest.mark.parametrize("kind", ["answer", "proof"])
@pytest.mark.parametrize("prompt_set", ["standard", "small"])
@pytest.mark.parametrize("name", GIVEN)
def test_a_template_shows_what_it_is_given_and_nothing_is_lost(name, prompt_set, kind):
    problem = Problem(f"Q {TEX}", kind=kind)
    made = prompt(Prompts(set=prompt_set), name, problem, CHECKS, **GIVEN[name])
    text = made.messages[-1]["content"]
    assert f"Q {TEX}" in text
    shown = [value for value in GIVEN[name].values() if isinstance(value, str)]
    assert all(value in text for value in shown)
    assert (f"VER {TEX}" in text) == (name in ("methods/refine", "methods/audit"))
    assert text.count("# Your task:") == 1
    assert "\n\n\n\n" not in text


def test_reviews_lose_their_text_before_a_refinement_is_too_long():
    made = prompt(Prompts(), "methods/refine", Problem("Q"), CHECKS, **GIVEN["methods/refine"])
    smaller = made.smaller(10)
    assert smaller is not None
    assert "VER" not in smaller.messages[-1]["content"]
    assert "(score 0.50)" in smaller.messages[-1]["content"]
    assert smaller.cut == {"verifications": 1}
