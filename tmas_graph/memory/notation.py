r"""From a statement's text to its tokens, whichever way its mathematics is written.

`$x=\dfrac{1}{2}$`, `\(x = \frac12\)` and `x = 1/2` have the same tokens. Words and mathematics are
told apart: "a" is an article among words and a variable in a formula.
"""

import re
import unicodedata
from typing import NamedTuple

from tmas_graph.memory.signs import ACRONYMS, COMMANDS, FUNCTIONS, SHORT, SIGNS


class Token(NamedTuple):
    """A word, or a sign of mathematics: a variable, number, operator or bracket."""

    text: str
    math: bool


_LAYOUT = re.compile(
    r"\\(?:left|right|bigl?|bigr|Bigl?|Bigr|displaystyle|textstyle|limits|nolimits|quad|qquad)"
    r"(?![a-zA-Z])\.?|\\[,;:! ]|\\\\|~"
)
_TEXT = re.compile(r"\\(?:text|textrm|textit|textbf|mathrm|operatorname|mbox)\*?\s*\{([^{}]*)\}")
_LETTERS = re.compile(r"\\(?:mathbb|mathcal|mathbf|mathfrak|boldsymbol)\s*(?:\{(\w)\}|(\w))")
_JOINED = re.compile(r"(?<=[\w$}])-(?=(?:[a-zA-Z]{4,}|gons?|sets?|to|one|GM|HM|QM)\b)")
_JOINED_LEFT = re.compile(r"(?<=[a-z]{4})-(?=[a-zA-Z])")
_END = re.compile(r"[\s.]+$")
_PIECE = re.compile(
    r"(?P<mode>\$\$?|\\[()\[\]])|(?P<command>\\[a-zA-Z]+|\\.)|(?P<number>\d+(?:[.,]\d+)*)"
    r"|(?P<letters>[^\W\d_]+(?:'[a-z]+)?)|(?P<sign><=>|<==|<=|>=|!=|==|=>|->|\.\.\.|\S)"
)

_FRAC, _OPENED = Token("frac", True), Token("{", True)
_DEEPER = {"{": 1, "}": -1}
_VARIABLE = re.compile(
    r"\s*(?:[-+=<>^_/*)|\\,.;:∈∉⊂⊆!°]|$|(?:is|are|and|or|divides|equals|does|must|implies|to|by|from|in|on|at|has|with|if|lies|meets)\b)"
)
"""What follows an "a" that is no article."""


def read(text: str) -> tuple[Token, ...]:
    """The tokens of `text`, with braces gone, and brackets where they bind more than one token."""
    reader = _Reader()
    plain = _plain(text)
    for piece in _PIECE.finditer(plain):
        reader.take(piece)
    tokens = reader.tokens
    while tokens and tokens[-1].text in (".", ",", ";"):
        tokens.pop()
    return _grouped(tokens)


def _plain(text: str) -> str:
    """The text without what only says how it looks."""
    text = _END.sub("", text)
    text = re.sub(r"([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", r"^{\1}", text)
    text = re.sub(r"([₀₁₂₃₄₅₆₇₈₉]+)", r"_{\1}", text)
    text = re.sub("[ℕℤℚℝℂ]", lambda m: f"\\bb{unicodedata.normalize('NFKC', m[0])} ", text)
    for sign in set(text) & SIGNS.keys():
        meaning = SIGNS[sign]
        text = text.replace(sign, f" \\{meaning} " if meaning.isalpha() else meaning)
    text = unicodedata.normalize("NFKC", text)
    text = _LAYOUT.sub(" ", text)
    text = _TEXT.sub(r" \\text{\1} ", _LETTERS.sub(lambda m: f"\\bb{m[1] or m[2]} ", text))
    text = re.sub(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ(?![a-zA-Z]))", "°", text)
    text = re.sub(r"(?<=\d)(\$?)\s*degrees?\b", r"°\1", text)
    text = re.sub(r"n't\b", " not", text).replace("cannot", "can not")
    text = _outside_formulas(text)
    return _END.sub("", text)


def _outside_formulas(text: str) -> str:
    """Join hyphenated words; within dollars a hyphen is a minus."""
    parts = re.split(r"(\$[^$]*\$)", text)
    parts[::2] = [_JOINED_LEFT.sub(" ", _JOINED.sub(" ", part)) for part in parts[::2]]
    joined = "".join(parts)
    return re.sub(r"\$-(?=[a-z]{2,})", "$ ", joined)


class _Reader:
    """Turns pieces into tokens; knows whether it stands in a formula."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self._formula = False
        self._text_until = ""

    def take(self, found: re.Match[str]) -> None:
        """Add the tokens of a piece that was found in the text."""
        kind, piece = found.lastgroup, found.group()
        if kind == "mode":
            self._formula = piece in (r"\(", r"\[") or ("$" in piece and not self._formula)
        elif kind == "command":
            self._command(piece[1:])
        elif kind == "letters":
            self._letters(found)
        elif kind == "number":
            self._number(piece)
        elif self._text_until and piece in "{}":
            self._text_until = "}" if piece == "{" else ""
        else:
            self._add(COMMANDS.get("lbrace", piece) if piece == "==" else piece)

    def _add(self, text: str, *, math: bool = True) -> None:
        if text != "*":  # a product is written with or without its sign
            self.tokens.append(Token(text, math))

    def _number(self, piece: str) -> None:
        if re.fullmatch(r"\d{1,3}(,\d{3})+", piece):
            return self._add(piece.replace(",", ""))
        for part in re.split(r"(,)", piece):
            self._add(part.rstrip("0").rstrip(".") if "." in part else part)

    def _command(self, name: str) -> None:
        if name == "text":
            self._text_until = "{"
        elif name == "triangle":
            self._add(name, math=False)
        elif name in ("DIV", "NDIV", "infty", "sqrt", "pi", "angle", "parallel", "perp"):
            self._add(name)
        else:
            self._add(COMMANDS.get(name, {"{": "{{", "}": "}}"}.get(name, name)))

    def _letters(self, found: re.Match[str]) -> None:
        piece, word = found.group(), found.group().lower()
        inside = self._formula and not self._text_until
        if word in FUNCTIONS and (inside or word not in ("max", "min", "sup")):
            self._add(word)
        elif inside or _variables(found):
            for letter in piece:
                self._add(letter)
        else:
            self._add(word.removesuffix("'s"), math=False)


def _variables(found: re.Match[str]) -> bool:
    """Whether letters outside of a marked formula stand for variables all the same."""
    piece = found.group()
    if not piece.isascii():
        return len(piece) == 1 and "α" <= piece.lower() <= "ω"
    if len(piece) == 1:
        return piece not in "aAI" or (piece != "I" and not _article(found))
    if piece.isupper():
        return len(piece) <= 4 and piece not in ACRONYMS
    return len(piece) == 2 and piece not in SHORT and piece.lower() not in SHORT


def _article(a: re.Match[str]) -> bool:
    return not _VARIABLE.match(a.string[a.end() : a.end() + 12])


def _grouped(tokens: list[Token]) -> tuple[Token, ...]:
    r"""Braces as brackets, where they bind more than one token; `\frac{a}{b}` as a/b."""
    place = 0
    found: list[Token] = []
    while place < len(tokens):
        token = tokens[place]
        if token == _FRAC:
            above, place = _argument(tokens, place + 1)
            below, place = _argument(tokens, place)
            found += [*above, Token("/", True), *below]
        elif token == _OPENED:
            inner, place = _argument(tokens, place)
            found += inner
        else:
            found.append(token)
            place += 1
    return tuple(found)


def _argument(tokens: list[Token], place: int) -> tuple[list[Token], int]:
    """What stands at `place`, one token or a group in braces, and where it ends."""
    if place >= len(tokens):
        return [], place
    if tokens[place].text != "{":
        first = tokens[place].text
        if first.isdigit() and len(first) > 1 and tokens[place - 1].text == "frac":
            tokens[place : place + 1] = [Token(digit, True) for digit in first]
        return [tokens[place]], place + 1
    depth, end = 0, place
    while end < len(tokens):
        depth += _DEEPER.get(tokens[end].text, 0)
        end += 1
        if not depth:
            break
    inner = list(_grouped(tokens[place + 1 : end - 1 if not depth else end]))
    if len(inner) > 1 and any(token.math for token in inner):
        inner = [Token("(", True), *inner, Token(")", True)]
    return inner, end
