"""Tell a name (`x`, `a_1`, `f(x)`, `AB`, `|AB|`, an angle) from a formula."""

from typing import NamedTuple

from tmas_graph.answers.brackets import Tokens
from tmas_graph.answers.syntax import CONSTANTS
from tmas_graph.answers.vocabulary import words

_BEFORE = frozenset((r"\angle", r"\triangle", r"\overline", r"\measuredangle", r"\vec", r"\deg"))
_GREEK = frozenset(
    words(
        "alpha beta gamma delta epsilon theta lambda mu nu xi rho sigma tau phi varphi psi omega "
        "Gamma Delta Theta Lambda Sigma Phi Psi Omega ell kappa eta zeta chi"
    )
)


class Named(NamedTuple):
    """A name as text, with the parameters if it is a function's."""

    text: str
    parameters: tuple[str, ...] = ()


def named(tokens: Tokens) -> Named | None:
    """Read `tokens` as a name; None where they are anything else."""
    texts = [token.text for token in tokens]
    if not texts or len(texts) > 20:
        return None
    if texts[0] in _BEFORE or (texts[0] == "|" == texts[-1] and len(texts) > 2):
        letters = [text for text in texts[1:] if text not in ("{", "}", "|")]
        return Named("".join(texts)) if all(map(str.isalpha, letters)) else None
    if texts[0] == "(" and texts[-1] == ")" and "," in texts:
        names = texts[1:-1:2]
        if set(texts[2:-1:2]) == {","} and all(map(_is_letter, names)):
            return Named("".join(texts), tuple(names))
        return None
    if all(text.isalpha() and text.isupper() for text in texts):
        return Named("".join(texts))
    if not _is_letter(texts[0]) or texts[0] in CONSTANTS:
        return None
    mark, rest = _subscript(texts[1:])
    return _called(texts[0].lstrip("\\") + mark, rest)


def _is_letter(text: str) -> bool:
    return (len(text) == 1 and text.isalpha()) or text.lstrip("\\") in _GREEK


def _subscript(rest: list[str]) -> tuple[str, list[str]]:
    """Take a subscript and primes off the front."""
    mark = ""
    if rest[:1] == ["_"]:
        if rest[1:2] == ["{"] and "}" in rest:
            end = rest.index("}")
            mark, rest = "_" + "".join(rest[2:end]), rest[end + 1 :]
        elif len(rest) > 1:
            mark, rest = "_" + rest[1], rest[2:]
    while rest[:1] == ["'"]:
        mark, rest = mark + "'", rest[1:]
    return mark, rest


def _called(name: str, rest: list[str]) -> Named | None:
    if not rest:
        return Named(name)
    if rest[0] != "(" or rest[-1] != ")" or len(rest) % 2 == 0:
        return None
    inside = rest[1:-1]
    if any(text != "," for text in inside[1::2]):
        return None
    arguments = tuple(text.lstrip("\\") for text in inside[::2])
    if all(_is_letter(text) for text in arguments):
        return Named(name, arguments)
    if all(text.isalnum() for text in arguments):
        return Named(f"{name}({','.join(arguments)})")
    return None
