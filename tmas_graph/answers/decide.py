"""Compare two normalised answers: what runs in a worker, under its limits.

Nothing here runs in the user's process; `equivalence` sends the texts and gets the verdict.
"""

import re
from fractions import Fraction

from tmas_graph.answers.answer import Answer, Claim, Value
from tmas_graph.answers.claims import states_quantity, states_ratio
from tmas_graph.answers.comparing import compare
from tmas_graph.answers.reading import read_answer
from tmas_graph.answers.showing import shown
from tmas_graph.answers.syntax import TooLarge
from tmas_graph.answers.verdict import Verdict, error, unsure

_GROUPED = re.compile(r"(?<![\d,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_LAYOUT = re.compile(r"\\?[{}()\[\]]|\s")
_CLOCK = re.compile(r"\d{1,2}:[0-5]\d")
_DECIMAL_COMMA = re.compile(r"(-?)(\d+),(\d+)")


def decide(pred: str, gold: str, *, directed: bool) -> Verdict:
    """Read and compare two normalised answers, with `1,234` as one number or as two.

    `directed` lets `m+n = 5` answer what is 5, and 2 what is `AB/CD = 2`.
    """
    try:
        verdicts = list[Verdict]()
        for one, other in _readings(pred, gold):
            verdicts.append(_compare(pred, gold, (one, other), directed))
            if verdicts[-1].outcome == "correct" and len(verdicts) > 1:
                return _unless_reordered(pred, gold, verdicts[-1])
            if verdicts[-1].outcome == "correct":
                return _unless_clock(pred, gold, verdicts[-1])
        return _unless_decimal_comma(pred, gold, verdicts[0])
    except TooLarge as reason:
        return error(f"limit: {reason}")


def _readings(pred: str, gold: str) -> list[tuple[bool, bool]]:
    return [(one, other) for one in _ways(pred) for other in _ways(gold)]


def _ways(text: str) -> tuple[bool, ...]:
    """In brackets `(2,251,252)` is a triple; elsewhere `1,234` may be one number or two."""
    if text.startswith(("(", "[", r"\{", r"\langle")):
        return (False,)
    rest = _GROUPED.sub("", text)
    if rest == text or ("," in rest and ", " not in rest):
        return (False,)  # no group of digits, or commas without spaces all through: a list
    return (True, False)


def _compare(pred: str, gold: str, grouped: tuple[bool, bool], directed: bool) -> Verdict:
    first = read_answer(pred, grouped=grouped[0])
    second = read_answer(gold, grouped=grouped[1])
    steps = [f"prediction read as {shown(first)}", f"gold read as {shown(second)}"]
    if directed:
        first, second = _as_asked(first, second)
    return compare(first, second).after(*steps)


def _as_asked(pred: Answer, gold: Answer) -> tuple[Answer, Answer]:
    if isinstance(pred, Claim) and isinstance(gold, Value) and not gold.name:
        return states_quantity(pred) or pred, gold
    if isinstance(gold, Claim) and isinstance(pred, Value) and not pred.name:
        return pred, states_ratio(gold) or gold
    return pred, gold


def _unless_reordered(pred: str, gold: str, verdict: Verdict) -> Verdict:
    """Take `4,125` for a list only where the other side lists the same in the same order."""
    if _LAYOUT.sub("", pred) == _LAYOUT.sub("", gold):
        return verdict
    return unsure("a comma that may group digits").after(*verdict.steps)


def _unless_clock(pred: str, gold: str, verdict: Verdict) -> Verdict:
    """Leave open whether 1:15 and 2:30 are ratios or times of day."""
    times = [text for text in (pred, gold) if _CLOCK.fullmatch(text)]
    if times and not (times[0] in pred and times[0] in gold):
        return unsure("equal as ratios, not as times").after(*verdict.steps)
    return verdict


def _unless_decimal_comma(pred: str, gold: str, verdict: Verdict) -> Verdict:
    """Leave open whether `0,5` is a half."""
    values = [_with_decimal_comma(text) for text in (pred, gold)]
    for value, other in ((values[0], gold), (values[1], pred)):
        if verdict.outcome == "incorrect" and value is not None:
            numeric = f"{value.numerator}/{value.denominator}"
            if decide(numeric, other, directed=False).outcome == "correct":
                return unsure("a comma that may be a decimal point").after(*verdict.steps)
    return verdict


def _with_decimal_comma(text: str) -> Fraction | None:
    match = _DECIMAL_COMMA.fullmatch(text)
    return Fraction(f"{match[1]}{match[2]}.{match[3]}") if match and len(text) < 60 else None
