from dataclasses import replace
from typing import Any

import pytest
from cases import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from tmas_graph.memory.dedup import Decision, Different, Known, Same, Thresholds, decide, says_more
from tmas_graph.memory.embeddings import embed
from tmas_graph.memory.english import stem
from tmas_graph.memory.guards import statement

PAIRS = cases("pairs")
DIFFERENT = [pair for pair in PAIRS if not pair["same"]]
GUARDS_ALONE = Thresholds(cosine=-2.0, overlap=0.0)
EVEN_BY_MEANING = Thresholds(cosine=-2.0, overlap=0.0, meaning=-2.0)
WORDS = (
    "x", "y", "n", "3", "4", "two", "=", "<", ">", "divides", "not", "even", "odd", "the", "sum",
    "of", "is", "and", "or", "if", "for all", "for some", "at least", "multiple", "$a_1$", ",", ".",
)  # fmt: skip
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


def known(text: str) -> Known:
    return Known.of(text, embed([text])[0])


def decided(one: str, other: str, thresholds: Thresholds = GUARDS_ALONE) -> Decision:
    return decide(known(one), known(other), thresholds)


@pytest.mark.parametrize("pair", DIFFERENT, ids=lambda pair: str(pair["id"]))
def test_two_facts_never_merge_even_if_an_embedding_finds_them_alike(pair: dict[str, Any]) -> None:
    assert isinstance(decided(pair["a"], pair["b"]), Different)
    assert isinstance(decided(pair["b"], pair["a"]), Different)
    assert isinstance(decided(pair["a"], pair["b"], EVEN_BY_MEANING), Different)


@pytest.mark.parametrize(("held_out", "least"), [(False, 0.6), (True, 0.55)])
def test_most_rewordings_that_rules_were_made_for_are_found(held_out: bool, least: float) -> None:
    pairs = [p for p in PAIRS if p["id"].startswith("reworded") and p["held_out"] is held_out]
    found = [p for p in pairs if isinstance(decide(known(p["a"]), known(p["b"])), Same)]
    assert len(found) / len(pairs) >= least


@pytest.mark.parametrize("kind", ["latex_variant", "symmetric"])
def test_notation_makes_no_difference(kind: str) -> None:
    for pair in PAIRS:
        if pair["kind"] == kind:
            assert isinstance(decided(pair["a"], pair["b"]), Same), pair["id"]


def test_the_labelled_set_is_large_and_balanced() -> None:
    same = [pair for pair in PAIRS if pair["same"]]
    assert len(same) >= 110
    assert len(DIFFERENT) >= 110
    assert sum(pair["kind"] == "reworded" for pair in same) >= 80
    assert len({pair["id"] for pair in PAIRS}) == len(PAIRS)
    held_out = sum(pair["held_out"] for pair in PAIRS if pair["kind"] != "hostile")
    assert 0.3 < held_out / sum(pair["kind"] != "hostile" for pair in PAIRS) < 0.65


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ("x = 3", "x = 4", "numbers"),
        ("x = 3", "x is not 3", "negation"),
        ("for all n, f(n) > 0", "for some n, f(n) > 0", "quantifiers"),
        ("x > 3", "y > 3", "formulas"),
        ("n is even", "n is odd", "words"),
        ("f is linear if f is continuous", "f is continuous if f is linear", "order"),
        ("f is linear for odd n", "f is linear of odd n by n", "formulas"),
    ],
)
def test_a_decision_says_what_differs(one: str, other: str, reason: str) -> None:
    assert decided(one, other) == Different(reason)  # type: ignore[arg-type]


def test_a_decision_says_which_stage_told() -> None:
    assert decided("$x=\\frac12$", "x = 1/2.") == Same("exact", 1.0)
    assert decided("x = 3", "x = 3 and y = 4") == Same("containment", 1.0)
    near = decided("p divides q", "q is divisible by p")
    assert isinstance(near, Same)
    assert near.stage == "near"
    assert 0.0 < near.score < 1.0


def test_the_one_that_says_more_is_the_one_to_keep() -> None:
    short, long = known("T(2) = 3"), known("T(2) = 3 and T(3) = 7")
    assert says_more(long, short)
    assert not says_more(short, long)
    assert not says_more(short, short)


@pytest.mark.parametrize("more", [" if y = 2", " or y = 2", " unless y = 2", " for odd n"])
def test_a_condition_makes_a_statement_weaker_not_fuller(more: str) -> None:
    assert isinstance(decided("T(2) = 3", f"T(2) = 3{more}"), Different)


def test_too_little_likeness_keeps_two_that_no_guard_tells_apart() -> None:
    one, other = known("p divides q"), known("q is divisible by p")
    assert decide(one, other, Thresholds(cosine=0.99, overlap=0.0)) == Different("likeness")
    far = replace(other, vector=-other.vector)
    assert decide(one, far) == Different("likeness")
    unlike = "S_4 = 10 was verified explicitly in detail, quickly", "S_4 = 10 was verified"
    assert decided(*unlike, Thresholds(cosine=-2.0, overlap=0.9)) == Different("overlap")


@given(texts, texts)
@settings(max_examples=200, derandomize=True, deadline=None)
def test_the_order_of_the_two_does_not_matter(one: str, other: str) -> None:
    assert decided(one, other) == decided(other, one)


@given(st.text(max_size=30), st.text(max_size=30))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_any_text_can_be_compared(one: str, other: str) -> None:
    assert decided(one, one) == Same("exact", 1.0)
    assert decided(one, other) == decided(other, one)


@given(texts, st.integers(0, 99), st.integers(100, 199))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_another_number_is_another_fact(text: str, one: int, other: int) -> None:
    assert isinstance(decided(f"{text} {one}", f"{text} {other}"), Different)


@pytest.mark.parametrize("pair", PAIRS[::4], ids=lambda pair: str(pair["id"]))
def test_a_condition_or_a_way_out_is_never_overlooked(pair: dict[str, Any]) -> None:
    text = pair["a"].rstrip(".")
    for more in (" if the lemma holds.", " or $z=7$.", " unless $z=7$.", " for some $z$."):
        assert isinstance(decided(text, text + more), Different)


def test_a_text_is_read_once() -> None:
    before = statement.cache_info().misses
    first = statement("read this only once: x_{77} = 78")
    assert statement("read this only once: x_{77} = 78") is first
    assert statement.cache_info().misses == before + 1


@pytest.mark.parametrize(
    "forms",
    [
        ("vertex", "vertices"), ("root", "roots"), ("divide", "dividing", "divided"),
        ("case", "cases"), ("apply", "applies", "applied", "applying"), ("swap", "swapping"),
        ("compare", "comparing", "compares"), ("match", "matches"), ("check", "checked"),
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1
