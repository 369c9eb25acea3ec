"""Cut tokens at the top level, outside all brackets."""

from collections.abc import Callable, Sequence

from tmas_graph.answers.tokens import Token

_OPENING = frozenset(("(", "[", "{", r"\{", r"\langle", r"\lfloor", r"\lceil", r"\lvert"))
_CLOSING = frozenset((")", "]", "}", r"\}", r"\rangle", r"\rfloor", r"\rceil", r"\rvert"))

Tokens = Sequence[Token]


def levels(tokens: Tokens) -> list[int]:
    """Give each token's depth in brackets; a bracket itself counts as outside."""
    depth, found = 0, list[int]()
    for token in tokens:
        if token.text in _CLOSING or token.text.startswith(r"\end:"):
            depth -= 1
        found.append(depth)
        if token.text in _OPENING or token.text.startswith(r"\begin:"):
            depth += 1
    return found


def split_at(tokens: Tokens, cut: Callable[[Token], bool]) -> tuple[list[Tokens], list[Token]]:
    """Cut `tokens` at the top level where `cut` says so; also give the tokens cut at."""
    parts, cuts, start = list[Tokens](), list[Token](), 0
    for place, (token, level) in enumerate(zip(tokens, levels(tokens), strict=True)):
        if level == 0 and cut(token):
            parts.append(tokens[start:place])
            cuts.append(token)
            start = place + 1
    parts.append(tokens[start:])
    return parts, cuts


def split_at_text(tokens: Tokens, *texts: str) -> list[Tokens]:
    """Cut `tokens` at the top level at signs of these texts."""
    return split_at(tokens, lambda token: token.text in texts and token.kind != "word")[0]


def wrapped(tokens: Tokens) -> bool:
    """Do the first and last token open and close one pair of brackets around all others?"""
    if len(tokens) < 2 or tokens[0].text not in _OPENING or tokens[-1].text not in _CLOSING:
        return False
    inside = levels(tokens)[1:-1]
    return all(level > 0 for level in inside) and levels(tokens)[-1] == 0


def balanced(tokens: Tokens) -> bool:
    """Does every bracket close?"""
    found = levels(tokens)
    closes = bool(tokens) and tokens[-1].text in _CLOSING
    opens = bool(tokens) and tokens[-1].text in _OPENING
    return not found or (min(found) >= 0 and not opens and (found[-1] == 0 or closes))
