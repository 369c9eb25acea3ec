import pytest

from tmas_graph.memory.english import plain
from tmas_graph.memory.notation import read
from tmas_graph.memory.phrasing import turned
from tmas_graph.memory.turns import forbidden


def told(text: str) -> str:
    return " ".join(token.text for token in turned(read(text)) if token.text != "the")


@pytest.mark.parametrize(
    ("words", "notation"),
    [
        ("$n$ leaves remainder 2 when divided by 7.", "n ≡ 2 mod 7"),
        ("$n$ has a remainder of 2 if divided by 7.", "n hav a remainder of 2 if divid by 7"),
        ("The remainder of $n$ upon division by 7 is 2.", "n ≡ 2 mod 7"),
        ("The sum of $a$ and $b$ is 10.", "a + b ≐ 10"),
        ("The product of $a$ and $b$ is 10.", "a b ≐ 10"),
        ("The sum of $a$, $b$ and $c$ is 10.", "sum of a , b , c ≐ 10"),
        ("The square of the sum of $a$ and $b$ is 10.", "squar of sum of a , b ≐ 10"),
        ("The angle $BAC$ measures 60 degrees.", "angle B A C ≐ 60 °"),
        ("The angle $A$ is 60 degrees.", "angl A ≐ 60 °"),
        ("Write $n$ as $2k$.", "writ n = 2 k"),
        ("Write $n$ as a sum.", "writ n as a sum"),
        ("Let $x=y+1$ in the equation.", "substitut x = y + 1 in equation"),
        ("Let $x=y+1$.", "assum x = y + 1"),
        ("Symmetry: set $x=y$", "symmetry : substitut x = y"),
        ("the set $A=B$", "set A = B"),
        ("$x$ violates the bound.", "bound fail for x"),
        ("$x$ violates the bound if $y=1$.", "x violat bound if y = 1"),
        ("It is wrong to assume linearity.", "assum linearity be wrong"),
        ("It is wrong to assume $a$ if $b$.", "it be wrong to assum a if b"),
    ],
)
def test_words_for_a_formula_are_read_as_the_formula(words: str, notation: str) -> None:
    assert told(words) == notation


@pytest.mark.parametrize("start", ["Do not", "Don't", "Never"])
def test_what_must_not_be_done_is_to_be_avoided(start: str) -> None:
    tokens = plain(forbidden(read(f"{start} divide by zero")))
    assert [token.text for token in tokens] == ["avoid", "divid", "by", "0"]


def test_a_negation_elsewhere_stays() -> None:
    assert told("$n$ does not divide $m$") == "n NDIV m"
