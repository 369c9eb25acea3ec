"""Reference answers that can be trained with, and others."""

from pathlib import Path

import pytest
from runs_made import rows

from tmas_graph.evaluation.datasets import Dataset
from tmas_graph.evaluation.planning import fresh
from tmas_graph.evaluation.problem_set import ProblemSource
from tmas_graph.settings import Settings
from tmas_graph.state import Problem
from tmas_graph.training_data.recorded import Recorded
from tmas_graph.training_data.references import NONE, SEVERAL, UNGRADABLE, Reference, references

pytestmark = pytest.mark.anyio


def run(**golds: str) -> Recorded:
    """A run about one problem a gold; `proof` is one to be proven, `none` has no gold."""
    kinds = {"proof": "proof"}
    problems = {n: Problem(f"{n}?", n, kinds.get(n, "answer")) for n in golds}
    known = {n: gold for n, gold in golds.items() if gold}
    found = Dataset("made", "1", tuple(problems.values()), known)
    settings = Settings(base_url="http://127.0.0.1:9/v1")
    plan = fresh(ProblemSource("made"), found, list(problems), ["self-consistency"], settings)
    made = rows("self-consistency", {name: ["+"] for name in problems})
    return Recorded(Path("run"), plan, problems, known, tuple(made))


async def test_an_answer_that_equals_itself_is_kept_without_its_box() -> None:
    found = await references([run(a="42", b=r"So it is \boxed{\frac{1}{2}}.")])
    assert found == {"a?": Reference("42"), "b?": Reference(r"\frac{1}{2}")}


async def test_no_answer_and_a_proof_can_not_be_trained_with() -> None:
    found = await references([run(none="", proof="42")])
    assert found == {"none?": Reference(fault=NONE), "proof?": Reference(fault=NONE)}


async def test_an_answer_that_the_grader_can_not_read_is_named() -> None:
    found = await references([run(a="...")])
    assert found["a?"].fault == UNGRADABLE


async def test_runs_that_disagree_about_an_answer_are_not_believed() -> None:
    assert await references([run(a="1"), run(a="2")]) == {"a?": Reference(fault=SEVERAL)}
    assert await references([run(a="1"), run(a=r"\boxed{1}")]) == {"a?": Reference("1")}
