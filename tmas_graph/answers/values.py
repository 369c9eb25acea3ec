"""Compare two values: names, parameters, units, percent, printed decimals, then the formulas."""

from fractions import Fraction

from tmas_graph.answers.answer import Value
from tmas_graph.answers.identity import compare_formulas, sign_of
from tmas_graph.answers.syntax import (
    Apply,
    Formula,
    Name,
    Number,
    called_in,
    names_in,
    substitute,
)
from tmas_graph.answers.verdict import Verdict, correct, incorrect, unsure
from tmas_graph.answers.vocabulary import MEASURES

_PRINTED_DIGITS = 15


def compare_values(pred: Value, gold: Value) -> Verdict:
    """Compare two values."""
    units = {pred.unit, gold.unit} - {""}
    if units == {"%"}:
        return _compare_percent(pred, gold)
    first, second = pred.formula, gold.formula
    if len(units) == 2:
        scale = _scale(pred.unit, gold.unit)
        if scale is None:
            return unsure(f"the units {pred.unit} and {gold.unit} don't convert by rule")
        first = Apply("*", (first, Number(scale)))
    if pred.parameters and gold.parameters and len(pred.parameters) == len(gold.parameters):
        first = _renamed(first, pred.parameters, gold.parameters)
    verdict = compare_plainly(first, second)
    if verdict.outcome == "incorrect" and units == {"degree"}:
        return _unless_radians(pred, gold, verdict)
    if verdict.outcome == "correct" and pred.name and gold.name and pred.name != gold.name:
        return unsure(f"the same value for {pred.name} and for {gold.name}")
    return verdict


def compare_plainly(first: Formula, second: Formula) -> Verdict:
    """Compare two formulas, also as letters that name a choice and as printed decimals."""
    letters = [side.text for side in (first, second) if isinstance(side, Name)]
    if len(letters) == 2 and _differ_in_case(*letters):
        return unsure("the same letter, large and small")
    found = compare_formulas(first, second)
    if found.relation == "equal":
        return correct(found.why)
    if found.relation == "unknown":
        return unsure(found.why)
    if called_in(first) or called_in(second):
        return unsure("different, but a function in them is unknown")
    for other_reading, why in _OTHER_READINGS:
        one, two = other_reading(first), other_reading(second)
        if (one, two) != (first, second) and compare_formulas(one, two).relation == "equal":
            return unsure(why)
    for decimal, other in ((first, second), (second, first)):
        if _is_printed(decimal, other):
            return correct("the decimal is the exact value as a computer prints it")
    return incorrect(found.why)


def _differ_in_case(first: str, second: str) -> bool:
    return len(first) == len(second) == 1 and first != second and first.lower() == second.lower()


def _segments_as_products(formula: Formula) -> Formula:
    if isinstance(formula, Apply):
        return Apply(formula.head, tuple(map(_segments_as_products, formula.arguments)))
    if isinstance(formula, Name) and len(formula.text) > 1 and formula.text.isupper():
        return Apply("*", tuple(map(Name, formula.text)))
    return formula


def _logarithms_to_ten(formula: Formula) -> Formula:
    if not isinstance(formula, Apply):
        return formula
    head = "lg" if formula.head == "log" and len(formula.arguments) == 1 else formula.head
    return Apply(head, tuple(map(_logarithms_to_ten, formula.arguments)))


_OTHER_READINGS = (
    (_segments_as_products, "equal if capitals side by side are a product, not a segment"),
    (_logarithms_to_ten, "equal if the logarithm is to base ten"),
)


def _compare_percent(pred: Value, gold: Value) -> Verdict:
    """Compare where one side or both are in percent; 50% is 0.5, and 50 may be meant so."""
    first, second = (
        Apply("/", (side.formula, Number(Fraction(100)))) if side.unit == "%" else side.formula
        for side in (pred, gold)
    )
    verdict = compare_plainly(first, second)
    if verdict.outcome != "incorrect" or pred.unit == gold.unit:
        return verdict
    if compare_formulas(pred.formula, gold.formula).relation == "equal":
        return unsure("the same digits, once with percent and once without")
    return verdict


def _unless_radians(pred: Value, gold: Value, verdict: Verdict) -> Verdict:
    degrees, other = (pred, gold) if pred.unit else (gold, pred)
    turned = Apply("degrees", (degrees.formula,))
    if not other.unit and compare_formulas(turned, other.formula).relation == "equal":
        return unsure("the same angle, once in degrees and once in radians")
    return verdict


def _scale(unit: str, other: str) -> Fraction | None:
    """Give the factor from `unit` to `other`; None where they measure different things."""
    if unit == other:
        return Fraction(1)
    one, two = MEASURES.get(unit), MEASURES.get(other)
    if one is None or two is None or one[0] != two[0]:
        return None
    return one[1] / two[1]


def _renamed(formula: Formula, olds: tuple[str, ...], news: tuple[str, ...]) -> Formula:
    """Call the parameters as the other side does; a free letter of such a name is another."""
    for free in (set(news) - set(olds)) & names_in(formula):
        formula = substitute(formula, free, Name(f"free {free}"))
    for place, old in enumerate(olds):
        formula = substitute(formula, old, Name(f"parameter {place}"))
    for place, new in enumerate(news):
        formula = substitute(formula, f"parameter {place}", Name(new))
    return formula


def _is_printed(decimal: Formula, exact: Formula) -> bool:
    """Is `decimal`, of 15 digits or more, what is printed for an endless decimal?"""
    if (
        isinstance(decimal, Apply)
        and decimal.head == "neg"
        and isinstance(decimal.arguments[0], Number)
    ):
        return _is_printed(decimal.arguments[0], Apply("neg", (exact,)))
    if not isinstance(decimal, Number) or decimal.digits < _PRINTED_DIGITS or names_in(exact):
        return False
    if isinstance(exact, Number) and (exact.digits or _terminates(exact.value)):
        return False
    last_place = Fraction(1, _power_of_ten(decimal.value.denominator))
    below, above = (Number(decimal.value + sign * last_place) for sign in (-1, 1))
    return (sign_of(Apply("-", (exact, below))), sign_of(Apply("-", (above, exact)))) == (1, 1)


def _power_of_ten(denominator: int) -> int:
    power = 1
    while power % denominator:
        power *= 10
    return power


def _terminates(value: Fraction) -> bool:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
