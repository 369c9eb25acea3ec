"""Turns of phrase that are put into one form before a statement is read: tokens to tokens."""

from collections.abc import Sequence

from tmas_graph.memory.english import english, plain
from tmas_graph.memory.formulas import RELATIONS
from tmas_graph.memory.notation import Token
from tmas_graph.memory.turns import forbidden, shortened

IS = "≐"
"""The equality of what words and formulas together describe, and a value."""
THUS = "thus"
"""What follows is concluded from what stands before."""
THERE = "∃∃"
"""An "∃" of the phrase "there is", which may be left out."""
QUANTIFIERS = frozenset({"∀", "∃", "∄", "¬∃", THERE})
_OBTAIN = frozenset({"get", "obtain", "conclud", "deduc", "deriv"})
_STOPS = frozenset({".", ";", ":", "¬", "¬possible", *QUANTIFIERS})
_NO_VALUE = RELATIONS | {","}
_AND, _BE, _END = Token("and", False), Token("be", False), Token("", False)


def turned(tokens: Sequence[Token]) -> list[Token]:
    """The tokens in the form that is read."""
    return _copulas(shortened(_values(_lists(_counts(_purposes(plain(forbidden(tokens))))))))


def in_formula(token: Token) -> bool:
    """Whether a token is a sign that formulas are made of."""
    return token.math and token.text not in _STOPS


def _purposes(tokens: tuple[Token, ...]) -> list[Token]:
    """Turn "use A to do B" into "do B by A"."""
    texts = ["" if token.math else token.text for token in tokens]
    if "to" not in texts[1:-1]:
        return list(tokens)
    if texts[0] not in ("us", "use", "apply", "employ"):
        return _results(tokens)
    place = texts.index("to", 1)
    if texts[place + 1] not in english().loose | {"bound"}:
        return list(tokens)
    return [*tokens[place + 1 :], Token("by", False), *tokens[1:place]]


def _results(tokens: Sequence[Token]) -> list[Token]:
    """Turn "do B to obtain C" into "do B, thus C"."""
    found: list[Token] = []
    for token in tokens:
        if not token.math and token.text in _OBTAIN and found and found[-1].text == "to":
            found[-1] = Token(THUS, False)
        else:
            found.append(token)
    return found


def _counts(tokens: list[Token]) -> list[Token]:
    """Turn "the number of pairs is 12" into "there are exactly 12 pairs"."""
    texts = [token.text for token in tokens if token.text not in ("the", "total")]
    if texts[:2] != ["number", "of"] or len(texts) < 5 or not texts[-1].isdigit():
        return tokens
    counted = [token for token in tokens if token.text not in ("the", "total")][2:-1]
    if counted[-1].text == "exactly":
        counted.pop()
    if counted.pop().text not in ("be", "="):
        return tokens
    return [Token(THERE, True), Token("exactly", False), tokens[-1], *counted]


def _lists(tokens: Sequence[Token]) -> list[Token]:
    """An "and" between formulas as a comma."""
    found: list[Token] = []
    for place, token in enumerate(tokens):
        if token != _AND:
            found.append(token)
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else _END
        if found and found[-1].math and after.math and after.text not in RELATIONS:
            if found[-1].text != ",":
                found.append(Token(",", True))
        else:
            found.append(token)
    return found


def _values(tokens: list[Token]) -> list[Token]:
    """The "value of f at 2" as f(2)."""
    texts = [token.text for token in tokens]
    for place in range(len(tokens) - 4):
        if texts[place : place + 2] == ["valu", "of"] and texts[place + 3] == "at":
            end = place + 4
            while end < len(tokens) and tokens[end].math and texts[end] not in RELATIONS:
                end += 1
            if tokens[place + 2].math and end > place + 4:
                opened, closed = Token("(", True), Token(")", True)
                value = [tokens[place + 2], opened, *tokens[place + 4 : end], closed]
                return [*tokens[:place], *value, *_values(tokens[end:])]
    return tokens


def _copulas(tokens: list[Token]) -> list[Token]:
    """A form of "to be" before a formula that ends the sentence as a sign of its own."""
    found = list(tokens)
    for place, token in enumerate(tokens[:-1]):
        after = tokens[place + 1]
        if token == _BE and in_formula(after) and after.text not in _NO_VALUE:
            end = next((t for t in tokens[place + 1 :] if not t.math or t.text in ".;"), None)
            if end is None or end.text in ".;":
                found[place] = Token(IS, True)
    return found
