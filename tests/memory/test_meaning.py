from typing import Any

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.dedup import BY_MEANING, Different, Known, Same, Thresholds, decide
from tmas_graph.memory.embeddings import Hashing, embed
from tmas_graph.memory.meaning import agree
from tmas_graph.memory.sense import sense
from tmas_graph.memory.sentence_model import SentenceModel

PAIRS = cases("pairs")
WORDS = (
    "x", "y", "n", "3", "4", "=", "<", "not", "even", "odd", "the", "sum", "of", "is", "if", "by",
    "from", "to", "bound", "product", "for all", "gives", "consider", "substitute", "$a_1=2$", ",",
)  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The equation has exactly two solutions.", "Exactly two solutions of the equation exist."),
        ("No integer solution exists with $y$ odd.", "If $y$ is odd, no integer solution exists."),
        ("Induction on the number of vertices proves the claim.",
         "The claim follows by induction on the number of vertices."),
        ("Setting $y=1$ in the equation gives $f(0)=1$.",
         "With $y=1$ the equation yields $f(0)=1$."),
        ("The maximum of $P$ is attained at $x=2$.", "$P$ reaches its maximum at $x=2$."),
        ("From x=1 we obtain y=2.", "y=2 if x=1"),
        ("Inversion: invert about $A$.", "Use inversion about $A$."),
        ("The sum collapses to 2 by telescoping.", "The sum telescopes to 2."),
        ("Assume continuity of $f$.", "Assume that $f$ is continuous."),
        ("Reduce modulo 9.", "Consider residues modulo 9."),
        ("The bound fails for $x$.", "$x$ violates the bound."),
        ("Do not divide by zero.", "Division by zero must be avoided."),
    ],
)  # fmt: skip
def test_what_says_little_may_differ_and_phrases_may_move(one: str, other: str) -> None:
    assert agree(one, other)
    assert agree(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Bound the sum by the area.", "Bound the area by the sum."),
        ("Using the sum, bound the integral.", "Bound the sum using the integral."),
        ("Compute the sides from the sines.", "Compute the sines from the sides."),
        ("Go from A to B.", "Go to A from B."),
        ("The perimeter exceeds the sum.", "The sum exceeds the perimeter."),
        ("The kernel contains the circle.", "The circle contains the kernel."),
        ("$n$ has an odd number of divisors.", "$n$ has a number of odd divisors."),
        ("f has a root", "f is a root"),
        ("f has root 2", "the root of f is 2"),
        ("x=1 gives y=2", "x=1 and y=2"),
        ("The sum was not computed.", "The sum was not found to be computed."),
        ("If x=1", "x=1"),
        ("Consider the sum of the coefficients.", "Consider the coefficients of the sum."),
        ("Multiply by x after simplifying.", "Simplify after multiplying by x."),
        ("P lies on the circle.", "P lies in the circle."),
        ("f has a root by continuity.", "f has a continuous root."),
        ("Multiplying by x reverses the sign.", "Reversing the sign multiplies by x."),
    ],
)
def test_roles_heads_and_premises_stay_what_they_are(one: str, other: str) -> None:
    assert not agree(one, other)
    assert not agree(other, one)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p["same"]][::3], ids=lambda p: str(p["id"]))
def test_a_condition_or_a_negation_is_never_overlooked(pair: dict[str, Any]) -> None:
    text = pair["a"].rstrip(".")
    for more in (" if $z=7$", " unless $z=7$", " or $z=7$", " for some $z$", " is wrong"):
        assert not agree(text, text + more)


def test_an_embedder_without_meaning_merges_by_the_guards_only() -> None:
    one, other = (
        Known.of(text, embed(["the same"])[0])
        for text in ("The maximum of $P$ is attained at $x=2$.", "$P$ has its maximum at $x=2$.")
    )
    assert decide(one, other, BY_MEANING) == Same("meaning", pytest.approx(1.0))
    assert isinstance(decide(one, other), Different)
    assert isinstance(decide(one, other, Thresholds(meaning=1.5)), Different)
    assert SentenceModel.knows_meaning
    assert not Hashing.knows_meaning


@given(texts, texts)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_the_order_of_the_two_does_not_matter(one: str, other: str) -> None:
    assert agree(one, other) == agree(other, one)


@given(st.text(max_size=30))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_says_what_it_says(text: str) -> None:
    assert agree(text, text)


def test_a_text_is_read_once() -> None:
    assert sense("read only once: x_{78} = 79") is sense("read only once: x_{78} = 79")
