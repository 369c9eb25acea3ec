"""Decides which answers are the same: exact numbers by value, all else as normalised text."""

import re
from fractions import Fraction

_DROP = re.compile(r"\\[,;!:]|\\left|\\right|\\displaystyle|\\,|\$|\s+")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf|mathbf)\{([^{}]*)\}")
_FRAC = re.compile(r"^(-?)\\[dt]?frac\{(-?\d+)\}\{(-?\d+)\}$")
_THOUSANDS = re.compile(r"^-?\d{1,3}(,\d{3})+(\.\d+)?$")
_MOST_DIGITS = 400


def normalised(answer: str) -> str:
    """One spelling for answers that are plainly the same; equal text means equal answers."""
    text = _TEXT.sub(r"\1", answer.replace("−", "-").replace("\\%", "%"))
    text = _DROP.sub("", text).rstrip(".").lower()
    number = _number(text)
    return str(number) if number is not None else text


def _number(text: str) -> Fraction | None:
    if len(text) > _MOST_DIGITS:
        return None
    if found := _FRAC.match(text):
        sign, above, below = found.groups()
        if int(below) == 0:
            return None
        return Fraction(int(above), int(below)) * (-1 if sign else 1)
    if _THOUSANDS.match(text):
        text = text.replace(",", "")
    if re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)", text):
        return Fraction(text)
    if re.fullmatch(r"[+-]?\d+/\d+", text) and int(text.split("/")[1]):
        return Fraction(text)
    return None
