"""Compare equations and inequalities by what they say of left side minus right side."""

from fractions import Fraction

from tmas_graph.answers.answer import Answer, Claim, Region, Value
from tmas_graph.answers.curves import same_curve
from tmas_graph.answers.identity import compare_formulas, sign_of
from tmas_graph.answers.syntax import Apply, Formula, Name, Number, names_in, substitute
from tmas_graph.answers.verdict import Verdict, correct, incorrect, unsure

_ZERO = Number(Fraction(0))


def difference(claim: Claim) -> Formula:
    """Give left minus right."""
    return Apply("-", (claim.left, claim.right))


def compare_claims(pred: Claim, gold: Claim) -> Verdict:
    """Compare two claims of the same sign: one must be a multiple of the other."""
    if pred.sign == gold.sign == "=":
        if not names_in(difference(pred)) or not names_in(difference(gold)):
            return unsure("an equation without a variable")
        return same_curve(difference(pred), difference(gold))
    one, two = _at_most(pred), _at_most(gold)
    if one is None or two is None or one[1] != two[1]:
        return unsure("an equation against an inequality, or different signs")
    factor = _constant_factor(one[0], two[0])
    if factor is not None and sign_of(factor) == 1:
        return correct("one inequality is a positive multiple of the other")
    return unsure("no positive factor between the two inequalities")


def compare_with_value(claim: Claim, value: Value) -> Verdict:
    """Compare an equation with a single value: whether its side is meant can't be told here."""
    if not names_in(difference(claim)):
        if compare_formulas(claim.left, claim.right).relation == "equal":
            return unsure("an equation that is always true against a value")
        return incorrect("an equation that is never true")
    if names_in(value.formula):
        return unsure("an equation against a formula")
    sides = [compare_formulas(side, value.formula).relation for side in (claim.left, claim.right)]
    if "equal" in sides or "unknown" in sides:
        return unsure("one side of the equation is the value")
    return incorrect("an equation against a number")


def states_quantity(claim: Claim) -> Value | None:
    """Give the value of an equation such as `m+n = 5` or `AB/CD = 2`, which says what is asked.

    Only letters without coefficients stand on the left, and a number other than 0 on the right.
    """
    if claim.sign != "=" or names_in(claim.right) or not _only_letters(claim.left):
        return None
    if compare_formulas(claim.right, _ZERO).relation != "different":
        return None
    return Value(claim.right)


def states_ratio(claim: Claim) -> Value | None:
    """Give the value of an equation with a quotient of names on the left."""
    if isinstance(claim.left, Apply) and claim.left.head == "/":
        return states_quantity(claim)
    return None


def compare_with_region(pred: Answer, gold: Answer) -> Verdict:
    """Compare an inequality in one variable with a half-line of it."""
    claim, region = (pred, gold) if isinstance(pred, Claim) else (gold, pred)
    if not isinstance(claim, Claim) or not isinstance(region, Region) or not region.name:
        return unsure("an equation or inequality against a set")
    (part, *more) = region.parts
    ends = [end for end in (part.low, part.high) if end is not None]
    if more or region.without or len(ends) != 1 or claim.sign == "=":
        return unsure("an inequality against a set")
    closed = part.low_closed or part.high_closed
    sign = ("<" if part.high is not None else ">") + ("=" if closed else "")
    return compare_claims(claim, Claim(sign, Name(region.name), ends[0]))


def _only_letters(formula: Formula) -> bool:
    if isinstance(formula, Apply):
        return formula.head in ("+", "*", "/", "-", "abs") and all(
            map(_only_letters, formula.arguments)
        )
    return isinstance(formula, Name)


def _at_most(claim: Claim) -> tuple[Formula, bool] | None:
    """Give F and strictness where the claim is F < 0 or F <= 0."""
    if claim.sign[0] not in "<>":
        return None
    gap = difference(claim)
    gap = Apply("neg", (gap,)) if claim.sign[0] == ">" else gap
    return gap, not claim.sign.endswith("=")


def _constant_factor(first: Formula, second: Formula) -> Formula | None:
    """Give the quotient of two formulas, if it is the same everywhere."""
    names = names_in(first) | names_in(second)
    one, two = first, second
    for place, name in enumerate(sorted(names)):
        by = Number(Fraction(7 * place + 11, 5 + 2 * place))
        one, two = substitute(one, name, by), substitute(two, name, by)
    if compare_formulas(two, _ZERO).relation != "different":
        return None
    factor = Apply("/", (one, two))
    same = compare_formulas(first, Apply("*", (factor, second)))
    return factor if same.relation == "equal" else None
