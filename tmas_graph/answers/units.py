"""Take a unit, percent or a multiple such as "million" off the end of a number."""

from fractions import Fraction
from typing import NamedTuple

from tmas_graph.answers.brackets import Tokens
from tmas_graph.answers.syntax import Formula, Number
from tmas_graph.answers.tokens import Token
from tmas_graph.answers.vocabulary import (
    COUNTED,
    DEGREES,
    MEASURES,
    MULTIPLES,
    PERCENT,
    SPELT,
    singular,
)

_JOINTS = frozenset(("^", "/", "2", "3", "{", "}", r"\cdot"))


class Peeled(NamedTuple):
    """The tokens before a unit, the unit, and the factor that a multiple word stands for."""

    tokens: Tokens
    unit: str
    factor: Formula | None


def peel_unit(tokens: Tokens) -> Peeled:
    """Split a value from its unit; a word that is no unit stays, and is then left over."""
    if len(tokens) == 1 and tokens[0].kind == "word" and tokens[0].text.lower() in SPELT:
        return Peeled([_spelt(tokens[0].text)], "", None)
    if len(tokens) > 1 and tokens[-1].text in ("%", r"\%"):
        return Peeled(tokens[:-1], "%", None)
    place = next((n for n, token in enumerate(tokens) if token.kind == "word"), 0)
    if place == 0 or not all(t.kind == "word" or t.text in _JOINTS for t in tokens[place:]):
        return Peeled(tokens, "", None)
    words = [token.text for token in tokens[place:]]
    bare = tokens[:place]
    factor = MULTIPLES.get(words[0].lower())
    if factor:
        words = words[1:]
    unit = _unit(words)
    if unit is None:
        return Peeled(tokens, "", None)
    return Peeled(bare, unit, Number(Fraction(factor)) if factor else None)


def _unit(words: list[str]) -> str | None:
    names = [singular(word.partition("^")[0]) for word in words if word[:1].isalpha()]
    if not words:
        return ""
    if [word.lower() for word in words] in ([w] for w in PERCENT):
        return "%"
    if len(words) == 1 and words[0].lower() in DEGREES:
        return "degree"
    if names and all(name in MEASURES or name in COUNTED for name in names):
        return "".join(words) if len(words) > 1 else (names[0] if "^" not in words[0] else words[0])
    return None


def _spelt(word: str) -> Token:
    return Token("number", str(SPELT[word.lower()]))
