"""Turns of phrase about formulas that notation says shorter: tokens to tokens.

"n leaves remainder 2 when divided by 7" is a congruence, "the sum of a and b is 10" an equation.
"""

from collections.abc import Sequence

from tmas_graph.memory.formulas import RELATIONS
from tmas_graph.memory.notation import Token

_STOPS = frozenset({".", ";", ":", ","})
_STARTS = frozenset({"", ",", ":", ".", ";", "and", "thus", "if", "since", "that", "we"})
_MARKED = frozenset({"and", "if", "thus", "for", "by", "since", "but", "or"})
_OPERATIONS = {"sum": ("+",), "product": ()}
_WHEN = frozenset({"if", "by", "on", "upon", "after", "in", "under"})
_COPULAS = frozenset({"be", "=", "≐"})
_WORD, _WRITE, _AS = Token("", False), Token("writ", False), Token("as", False)
_ANGLE, _MEASURE = Token("angl", False), Token("measur", False)


def forbidden(tokens: Sequence[Token]) -> list[Token]:
    """Turn "do not divide" and "never divide" into "avoid divide"."""
    texts = ["" if token.math else token.text for token in tokens[:2]]
    for start in (["do", "not"], ["never"]):
        if texts[: len(start)] == start and len(tokens) > len(start):
            return [Token("avoid", False), *tokens[len(start) :]]
    return list(tokens)


def shortened(tokens: Sequence[Token]) -> list[Token]:
    """Say in notation what is said in words."""
    found = list(tokens)
    for turn in (_blamed, _violated, _set, _written, _angles, _sums, _remainder):
        found = turn(found)
    return found


def _blamed(tokens: list[Token]) -> list[Token]:
    """Turn "it is wrong to assume A" into "assume A is wrong"."""
    if _texts(tokens[:4]) != ["it", "be", "wrong", "to"]:
        return tokens
    rest = tokens[4:]
    simple = not any(token.text in _STOPS or token.text in ("if", "thus") for token in rest)
    return [*rest, *tokens[1:3]] if simple else tokens


def _violated(tokens: list[Token]) -> list[Token]:
    """Turn "x violates the bound" into "the bound fails for x"."""
    end = _formula_end(tokens, 0)
    if not end or _texts(tokens[end : end + 1]) != ["violat"] or end + 1 == len(tokens):
        return tokens
    subject, rest = tokens[:end], tokens[end + 1 :]
    plain = not any(token.math or token.text in _STOPS | _MARKED for token in rest)
    return [*rest, Token("fail", False), Token("for", False), *subject] if plain else tokens


def _set(tokens: list[Token]) -> list[Token]:
    """Turn "set x = 1", and "let x = 1 in the equation", into "substitute x = 1"."""
    found = list(tokens)
    for place, token in enumerate(tokens):
        if token.math or token.text not in ("set", "put", "assum"):
            continue
        end = _formula_end(tokens, place + 1)
        if "=" not in _texts(tokens[place + 1 : end]):
            continue
        begins = place == 0 or tokens[place - 1].text in _STARTS
        inside = end < len(tokens) and tokens[end].text == "in" and not tokens[end].math
        if begins and (token.text != "assum" or inside):
            found[place] = Token("substitut", False)
    return found


def _written(tokens: list[Token]) -> list[Token]:
    """Turn "write n as 2 k" into "write n = 2 k"."""
    for place, token in enumerate(tokens):
        if token != _WRITE:
            continue
        end = _formula_end(tokens, place + 1)
        if end == place + 1 or end + 1 >= len(tokens):
            continue
        plain = not any(sign.text in RELATIONS | _STOPS for sign in tokens[place + 1 : end])
        if plain and tokens[end] == _AS and tokens[end + 1].math:
            return [*tokens[:end], Token("=", True), *tokens[end + 1 :]]
    return tokens


def _angles(tokens: list[Token]) -> list[Token]:
    """Read "angle B A C" with its sign; "measures 60°" as "is 60°"."""
    found = list(tokens)
    for place, token in enumerate(tokens):
        if token not in (_ANGLE, _MEASURE):
            continue
        after = tokens[place + 1] if place + 1 < len(tokens) else _WORD
        if token == _ANGLE:
            end = _formula_end(tokens, place + 1)
            letters = _texts(tokens[place + 1 : place + 4])
            named = len(letters) == 3 and all(len(x) == 1 and x.isupper() for x in letters)
            longer = end > place + 4 and tokens[place + 4].text.isalnum()
            if named and end >= place + 4 and not longer:
                found[place] = Token("angle", True)
        elif after.math and after.text[:1].isdigit():
            found[place] = Token("be", False)
    return found


def _sums(tokens: list[Token]) -> list[Token]:
    """Read "the sum of a, b is 10" as "a + b is 10", where nothing else could belong to it."""
    place = 1 if _texts(tokens[:1]) == ["the"] else 0
    sign = _OPERATIONS.get(tokens[place].text) if len(tokens) > place + 5 else None
    if sign is None or tokens[place].math or tokens[place + 1] != Token("of", False):
        return tokens
    end = _formula_end(tokens, place + 2)
    inner = tokens[place + 2 : end]
    if end < len(tokens) and tokens[end].text in _COPULAS and _plain_pair(inner):
        signs = [Token(text, True) for text in sign]
        return [inner[0], *signs, inner[2], *tokens[end:]]
    return tokens


def _plain_pair(tokens: Sequence[Token]) -> bool:
    return len(tokens) == 3 and tokens[1].text == "," and tokens[0].text != tokens[2].text


def _remainder(tokens: list[Token]) -> list[Token]:
    """Read "n leaves remainder 2 when divided by 7" as a congruence."""
    texts = [t.text for t in tokens if t.math or t.text not in ("the", "a")]
    kept = [t for t in tokens if t.math or t.text not in ("the", "a")]
    if "remainder" not in texts or len(kept) < 7:
        return tokens
    parts = _ordered(kept, texts.index("remainder"))
    if not parts or not all(part and all(sign.math for sign in part) for part in parts):
        return tokens
    number, left, divisor = parts
    return [*number, Token("≡", True), *left, Token("mod", True), *divisor]


def _ordered(kept: list[Token], place: int) -> list[list[Token]]:
    """The number, what is left of it and the divisor, where the whole statement is about these."""
    texts = _texts(kept)
    if texts[place - 1 : place] in (["leav"], ["hav"], ["giv"]):
        end = _formula_end(kept, place + 1)
        if _division(texts[end : end + 3]):
            return [kept[: place - 1], kept[place + 1 : end], kept[end + 3 :]]
    elif place == 0 and texts[1] == "of":
        end = _formula_end(kept, 2)
        last = _formula_end(kept, end + 3)
        if _division(texts[end : end + 3]) and texts[last : last + 1] == ["be"]:
            return [kept[2:end], kept[last + 1 :], kept[end + 3 : last]]
    return []


def _division(texts: list[str]) -> bool:
    return (
        len(texts) == 3
        and texts[0] in _WHEN
        and texts[1] in ("divid", "division")
        and texts[2] == "by"
    )


def _formula_end(tokens: Sequence[Token], place: int) -> int:
    """Where the formula that begins at `place` ends."""
    while place < len(tokens) and tokens[place].math:
        place += 1
    return place


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]
