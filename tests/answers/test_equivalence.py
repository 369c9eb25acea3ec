import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.answers.answer import Words
from tmas_graph.answers.equivalence import agrade, equal, grade
from tmas_graph.answers.extract import gold_answer
from tmas_graph.answers.normalise import normalise
from tmas_graph.answers.reading import read_answer
from tmas_graph.answers.ungradable import UNGRADABLE
from tmas_graph.evaluation.datasets import load

POLICY_FREE_RIGHT = 0.98
_FILE = Path(__file__).parents[1] / "cases" / "grading.jsonl"
CASES = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['id']}-{case['kind']}")
def test_our_own_cases_have_their_verdicts(case):
    # Some need a second of the processor, which other tests want, too.
    verdict = grade(case["pred"], case["gold"], timeout=60)
    assert verdict.outcome == case["verdict"], verdict


def test_the_shared_cases_are_right_and_none_is_falsely_correct(shared_rows):
    graded = [
        (case, grade(case["pred"], case["gold"]))
        for case in shared_rows("grading", "cases.jsonl")
        if not case.get("policy")
    ]
    accepted = [(case, verdict.outcome == "correct") for case, verdict in graded]
    assert [case["id"] for case, said in accepted if said and not case["expected"]] == []
    right = sum(said == case["expected"] for case, said in accepted)
    assert right / len(accepted) >= POLICY_FREE_RIGHT


@pytest.mark.parametrize("name", ["imo-answerbench", "gsm8k"])
def test_golds_match_themselves(name):
    unequal = [
        problem_id
        for problem_id, gold in load(name).golds.items()
        if grade(rf"\boxed{{{gold}}}", gold).outcome != "correct"
    ]
    assert unequal == []


def test_golds_that_rules_cannot_read_are_listed():
    unread = {
        problem_id
        for problem_id, gold in load("imo-answerbench").golds.items()
        if isinstance(read_answer(normalise(gold_answer(gold))), Words)
    }
    assert unread == set(UNGRADABLE)


def test_words_left_over_are_never_equal():
    for words in ("5 if n is even", "about 5", "5 or more", "not 5", "5 unless x = 2"):
        assert grade(words, "5").outcome in ("unsure", "incorrect")


def test_an_empty_gold_is_an_error_and_an_empty_prediction_is_incorrect():
    assert grade("5", " ").outcome == "error"
    assert grade(" ", "5").outcome == "incorrect"


def test_a_prediction_that_was_cut_off_is_incorrect():
    assert grade(r"so \boxed{5", "5").outcome == "incorrect"
    assert grade("<think>it is 5", "5").outcome == "incorrect"


@st.composite
def formulas(draw, depth=3):
    """Draw a formula of LaTeX with the spelling that a model might choose."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        number = draw(st.integers(1, 40))
        return draw(st.sampled_from([str(number), f"\\sqrt{{{number}}}", "x", r"\pi", "2^{n}"]))
    left, right = draw(formulas(depth=depth - 1)), draw(formulas(depth=depth - 1))
    shape = draw(
        st.sampled_from(
            ["({0}+{1})", "({0}-{1})", r"({0} \cdot {1})", r"\frac{{{0}}}{{{1}}}", "({0})^2", "{0}"]
        )
    )
    return shape.format(left, right)


SLOWLY = settings(max_examples=60, deadline=None, derandomize=True, database=None)


@SLOWLY
@given(formulas())
def test_a_formula_equals_itself(formula):
    verdict = equal(formula, f" ({formula}) ")
    assert verdict.outcome in ("correct", "unsure"), verdict  # a division by zero has no value
    assert equal(formula, formula).outcome == "correct"


@SLOWLY
@given(formulas(), formulas())
def test_equality_is_symmetric(first, second):
    assert equal(first, second) == equal(second, first)
    assert grade(first, second).outcome == grade(second, first).outcome


@SLOWLY
@given(st.lists(formulas(depth=1), min_size=3, max_size=3))
def test_equality_is_transitive(three):
    a, b, c = three
    if equal(a, b).outcome == equal(b, c).outcome == "correct":
        assert equal(a, c).outcome == "correct"


@SLOWLY
@given(formulas(), formulas(), formulas())
def test_rewritten_formulas_stay_equal(a, b, c):
    """A slow obvious check of the comparison: the laws of arithmetic."""
    pairs = [(f"{a}({b}+{c})", f"{a}\\cdot {b}+{c}\\cdot {a}"), (f"{a}-({b}-{c})", f"{c}+{a}-{b}")]
    for one, two in pairs:
        assert equal(one, two).outcome in ("correct", "unsure"), (one, two)
        assert equal(one, f"{two}+1").outcome in ("incorrect", "unsure"), (one, two)


@SLOWLY
@given(st.fractions(max_denominator=50), st.fractions(max_denominator=50))
def test_fractions_are_compared_as_fractions(first, second):
    same = Fraction(first) == Fraction(second)
    spelt = rf"\frac{{{second.numerator}}}{{{second.denominator}}}"
    assert (grade(str(first), spelt).outcome == "correct") == same


PAIRS = [(r"\sqrt{8}", r"2\sqrt{2}"), ("x+1", "x+2"), ("odd n", "5"), ("1/2", "0.5"), ("a:b", "2")]


@pytest.mark.usefixtures("fresh_verdicts")
def test_the_verdict_is_the_same_from_thread_loop_and_process():
    here = [grade(*pair) for pair in PAIRS]

    async def in_a_loop():
        return list(await asyncio.gather(*(agrade(*pair) for pair in PAIRS)))

    assert asyncio.run(in_a_loop()) == here
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda pair: grade(*pair), PAIRS)) == here
    script = (
        f"from tmas_graph.answers.equivalence import grade\nfor p in {PAIRS!r}: print(grade(*p))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert ran.stdout.splitlines() == [str(verdict) for verdict in here]


def test_importing_the_grader_loads_neither_flint_nor_langgraph():
    script = (
        "import sys, tmas_graph.answers.equivalence, tmas_graph.answers.select\n"
        "print([m for m in ('flint', 'sympy', 'langgraph', 'pydantic') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout.strip() == "[]"
