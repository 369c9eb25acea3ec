"""Cut a normalised answer into tokens."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tmas_graph.answers.syntax import TooLarge, Unreadable
from tmas_graph.answers.vocabulary import MEASURES, words

MAX_TOKENS = 4_000
MAX_DEPTH = 40

Kind = Literal["number", "letter", "command", "word", "sign"]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of an answer; `tight` says that no space stood before it."""

    kind: Kind
    text: str
    tight: bool = True


_GROUPED = r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?![\d]|,\d)"
_PIECE = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>GROUPED(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4}(?![\d.]))?)"
    r"|\\(?P<text>text|textbf|textrm|textit|textsf|texttt|textnormal|mathrm|operatorname|mathbb"
    r"|mathcal|operatorname\*)\s?\{(?P<inside>[^{}]*)\}"
    r"|\\(?P<environment>begin|end)\s?\{(?P<named>[a-zA-Z*]+)\}"
    r"|(?P<command>\\(?:[a-zA-Z]+|[{}%|\\&#_]))"
    r"|(?P<letters>[A-Za-z]+)"
    r"|(?P<sign>[-+*/^_=<>(){}\[\],;:!|'%&.?\n])"
    r"|(?P<other>.)".replace("GROUPED", f"(?:{_GROUPED})|"),
    re.DOTALL,
)
_PIECE_APART = re.compile(_PIECE.pattern.replace(f"(?:{_GROUPED})|", ""), re.DOTALL)

BARE_UNITS = frozenset(("cm", "mm", "km", "kg"))
KNOWN = {
    "sqrt": r"\sqrt", "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "cot": r"\cot",
    "sec": r"\sec", "csc": r"\csc", "arcsin": r"\arcsin", "arccos": r"\arccos",
    "arctan": r"\arctan", "asin": r"\arcsin", "acos": r"\arccos", "atan": r"\arctan",
    "sinh": r"\sinh", "cosh": r"\cosh", "tanh": r"\tanh", "log": r"\log", "ln": r"\ln",
    "lg": r"\lg", "exp": r"\exp", "pi": r"\pi", "abs": r"\abs", "floor": r"\floor",
    "ceil": r"\ceil", "gcd": r"\gcd", "lcm": r"\lcm", "max": r"\max", "min": r"\min",
    "mod": r"\bmod", "binom": r"\binom", "infinity": r"\infty", "inf": r"\infty",
    "oo": r"\infty", "alpha": r"\alpha", "beta": r"\beta", "theta": r"\theta",
    "lambda": r"\lambda", "phi": r"\phi", "omega": r"\omega", "cis": r"\cis",
}  # fmt: skip
"""Words that are mathematics when they are written without a backslash."""

_SHORT_WORDS = frozenset(
    words("is if or no in of to by at as an on it be so we all any for and the yes not are has")
)
_LOUD_WORDS = frozenset(
    words("AND ANY ALL FOR IF NONE NOT OR THE TRUE YES")  # other capitals in a row are segments
)


def tokenise(text: str, *, grouped: bool = True) -> list[Token]:
    """Cut `text` into tokens; `grouped` reads `1,234` as one number, else as two.

    Raises:
        TooLarge: there are too many tokens, or they nest too deeply.
    """
    tokens, tight, depth = list[Token](), True, 0
    for match in (_PIECE if grouped else _PIECE_APART).finditer(text):
        if match.lastgroup == "space":
            tight = False
            if match.group().count("\n") > 1:
                tokens.append(Token("sign", "\n", False))
            continue
        unit = match.group("inside") if tokens and tokens[-1].kind == "number" else None
        if unit is not None and unit.strip() in MEASURES:
            tokens.append(Token("word", unit.strip(), False))
            continue
        for token in _read(match, tight):
            depth += (token.text in "({[") - (token.text in ")}]")
            if depth > MAX_DEPTH:
                raise TooLarge(f"brackets nest deeper than {MAX_DEPTH}")
            tokens.append(token)
        tight = True
        if len(tokens) > MAX_TOKENS:
            raise TooLarge(f"more than {MAX_TOKENS} tokens")
    return tokens


def _read(match: re.Match[str], tight: bool) -> list[Token]:
    if number := match.group("number"):
        return [Token("number", number, tight)]
    if (inside := match.group("inside")) is not None:
        return _read_text(match.group("text"), inside, tight)
    if environment := match.group("environment"):
        return [Token("command", f"\\{environment}:{match.group('named')}", tight)]
    if command := match.group("command"):
        return [Token("command", command, tight)]
    if letters := match.group("letters"):
        return _read_letters(letters, tight)
    if sign := match.group("sign"):
        return [Token("sign", sign, tight)]
    return [Token("word", match.group("other"), tight)]


def _read_text(command: str, inside: str, tight: bool) -> list[Token]:
    r"""Read `\text{…}`: words stay words, a number or a letter is what it looks like."""
    content = inside.strip()
    if command in ("mathbb", "mathcal"):
        return [Token("letter", f"{command}:{content}", tight)]
    if content in KNOWN and command in ("operatorname", "operatorname*", "mathrm"):
        return [Token("command", KNOWN[content], tight)]
    if re.fullmatch(r"[A-Za-z]|[-+\d.,]+", content):
        return tokenise(content)
    tokens = list[Token]()
    for piece in re.findall(r"[^\W\d_]+(?:['-][^\W\d_]+)*\.?(?:\^\{?\d\}?)?|\d+|\S", content):
        tokens.extend([Token("word", piece, False)] if piece[0].isalpha() else tokenise(piece))
    return tokens


def _read_letters(letters: str, tight: bool) -> list[Token]:
    """Read letters without a backslash: a function's name, a word, or variables in a row."""
    if letters in KNOWN:
        return [Token("command", KNOWN[letters], tight)]
    if letters.isupper() and 1 < len(letters) <= 4 and letters not in _LOUD_WORDS:
        return [Token("letter", letters, tight)]
    if len(letters) > 1 and (letters.lower() in _SHORT_WORDS or not _product(letters)):
        return [Token("word", letters, tight)]
    return [Token("letter", letter, tight or place > 0) for place, letter in enumerate(letters)]


def _product(letters: str) -> bool:
    """Are these variables side by side (`ab`, `xyz`), rather than a word?"""
    if len(letters) <= 2:
        return letters not in BARE_UNITS
    steps = [ord(b) - ord(a) for a, b in pairwise(letters)]
    return all(0 < step <= 2 for step in steps)


def require(condition: bool, what: str) -> None:
    """Raise `Unreadable` unless `condition`."""
    if not condition:
        raise Unreadable(what)
