"""The templates of the rival methods: each renders with what its method gives it, and as it was."""

import pytest

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import Entry
from tmas_graph.memory.retrieval import Noted
from tmas_graph.methods import METHODS
from tmas_graph.prompts import NAMES, Prompts
from tmas_graph.state import Problem, Rollout, Verification

TEX = r"$\frac{1}{2}$ {{ x }} {% raw %} \boxed{3}"
KINDS = ("pitfall", "conclusion")
SHOWN = Shown(
    rollouts=(Rollout(0, 0, "initial", f"REF {TEX}"), Rollout(0, 1, "initial")),
    verifications=(Verification(f"VER {TEX}", 0.5), Verification("", None)),
    experience=tuple(Noted(Item(kind, f"ITEM {kind} {TEX}"), Entry("a", 0), 1) for kind in KINDS),
)
SEEN = {
    "VER": {"methods/refine", "methods/audit"},
    "REF": {"methods/combine", "methods/condense", "methods/pick", "methods/debate"},
    "ITEM pitfall": {"methods/guided"},
    "ITEM conclusion": {"methods/guided"},
}
"""Which templates show what."""
GIVEN = {
    "methods/refine": {"solution": f"SOL {TEX}", "self_graded": True},
    "methods/self_graded": {},
    "methods/audit": {"solution": f"SOL {TEX}", "review": f"VER {TEX}"},
    "methods/improve": {"solution": f"SOL {TEX}"},
    "methods/thought": {"steps": f"STEP {TEX}", "words": 120},
    "methods/value": {"steps": f"STEP {TEX}"},
    "methods/combine": {},
    "methods/condense": {"words": 500},
    "methods/noted": {"notes": f"SUM {TEX}"},
    "methods/pick": {"count": 2},
    "methods/debate": {"own": f"SOL {TEX}", "notes": ""},
    "methods/distil": {"solution": f"SOL {TEX}", "items": 16},
    "methods/guided": {},
}


def test_every_template_is_of_some_method_and_is_rendered_here():
    used = {name for method in METHODS.values() for name in method.prompts}
    assert used - set(NAMES) == set(GIVEN)


@pytest.mark.parametrize("kind", ["answer", "proof"])
@pytest.mark.parametrize("prompt_set", ["standard", "small"])
@pytest.mark.parametrize("name", GIVEN)
def test_a_template_shows_what_it_is_given_and_nothing_is_lost(name, prompt_set, kind):
    problem = Problem(f"Q {TEX}", kind=kind)
    made = prompt(Prompts(set=prompt_set), name, problem, SHOWN, **GIVEN[name])
    text = "\n\n".join(message["content"] for message in made.messages)
    assert f"Q {TEX}" in text
    shown = [value for value in GIVEN[name].values() if isinstance(value, str)]
    assert all(value in text for value in shown)
    assert {what for what in SEEN if f"{what} {TEX}" in text} == {
        what for what, names in SEEN.items() if name in names
    }
    assert text.count("# Your task:") == 1
    assert "\n\n\n\n" not in text


def test_reviews_lose_their_text_before_a_refinement_is_too_long():
    checks = Shown(verifications=SHOWN.verifications)
    made = prompt(Prompts(), "methods/refine", Problem("Q"), checks, **GIVEN["methods/refine"])
    smaller = made.smaller(10)
    assert smaller is not None
    assert "VER" not in smaller.messages[-1]["content"]
    assert "(score 0.50)" in smaller.messages[-1]["content"]
    assert smaller.cut == {"verifications": 1}


@pytest.mark.parametrize(("name", "left"), [("combine", "combine"), ("debate", "reconsider")])
def test_where_no_solution_fits_no_heading_is_left(name, left):
    made = prompt(Prompts(), f"methods/{name}", Problem("Q"), SHOWN, **GIVEN[f"methods/{name}"])
    smaller = made.smaller(10_000)
    assert smaller is not None
    text = smaller.messages[-1]["content"]
    assert left in text
    assert "Candidate solutions" not in text
    assert "What the others say" not in text


def test_condensed_answers_stand_in_place_of_the_answers():
    given = {"own": "", "notes": f"SUM {TEX}"}
    made = prompt(Prompts(), "methods/debate", Problem("Q"), SHOWN, **given)
    text = made.messages[-1]["content"]
    assert f"SUM {TEX}" in text
    assert "REF" not in text
    assert "Your last answer" not in text
