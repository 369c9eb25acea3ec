"""Plain numbers, read exactly: integers, decimals, fractions, percent, powers of ten.

The commonest answers are decided here, without a worker. Nothing is ever a float.
"""

import re
from fractions import Fraction

MAX_DIGITS = 4000  # Python refuses to read longer integers from text

_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)"
_PLAIN = re.compile(rf"([-+]?)\s?({_DIGITS})(?:[eE]([-+]?\d{{1,3}}))?")
_RATIO = re.compile(rf"([-+]?)\s?({_DIGITS})\s?/\s?({_DIGITS})")
_FRACTION = re.compile(r"([-+]?)\s?\\frac\s?(?:\{([^{}]*)\}|(\d))\s?(?:\{([^{}]*)\}|(\d))")


def plain_number(text: str) -> Fraction | None:
    r"""Read a normalised number such as `-1,234.50`, `3/4`, `\frac34` or `1.5e3`.

    None for anything else: also for `50%`, `74^\circ` and `2 3/4`, whose reading needs rules.
    """
    if len(text) > MAX_DIGITS:
        return None
    if match := _PLAIN.fullmatch(text):
        sign, digits, exponent = match.groups()
        return _signed(sign, _decimal(digits) * Fraction(10) ** int(exponent or 0))
    if match := _RATIO.fullmatch(text):
        sign, above, below = match.groups()
        return _quotient(sign, _decimal(above), _decimal(below))
    if match := _FRACTION.fullmatch(text):
        sign, *parts = match.groups()
        above, below = (plain_number((a or b or "").strip()) for a, b in (parts[:2], parts[2:]))
        return None if above is None or below is None else _quotient(sign, above, below)
    return None


def _decimal(digits: str) -> Fraction:
    whole, _, after = digits.replace(",", "").partition(".")
    return Fraction(int(whole + after or "0"), 10 ** len(after))


def _signed(sign: str, value: Fraction) -> Fraction:
    return -value if sign == "-" else value


def _quotient(sign: str, above: Fraction, below: Fraction) -> Fraction | None:
    return _signed(sign, above / below) if below else None
