"""Do two equations F = 0 and G = 0 have the same solutions?

Yes, if F is a constant multiple of G. No, if a solution of one is surely none of the other: one is
found where the equation is of first degree in some variable. Else it stays open.
"""

from fractions import Fraction

from tmas_graph.answers.identity import compare_formulas
from tmas_graph.answers.syntax import Apply, Formula, Number, names_in, substitute
from tmas_graph.answers.verdict import Verdict, correct, incorrect, unsure

_ZERO = Number(Fraction(0))


def same_curve(first: Formula, second: Formula) -> Verdict:
    """Compare the solutions of `first` = 0 and `second` = 0."""
    if _is_multiple(first, second):
        return correct("one equation is a multiple of the other")
    for one, two in ((first, second), (second, first)):
        if _has_other_solution(one, two):
            return incorrect("a solution of one equation is none of the other")
    return unsure("no factor between the two equations")


def _is_multiple(first: Formula, second: Formula) -> bool:
    """Is F(x) G(a) = F(a) G(x) for a fixed place a where G isn't 0, and F isn't either?"""
    names = sorted(names_in(first) | names_in(second))
    one, two = _at_place(first, names, 0), _at_place(second, names, 0)
    if any(compare_formulas(value, _ZERO).relation != "different" for value in (one, two)):
        return False
    crossed = Apply("*", (first, two)), Apply("*", (one, second))
    return compare_formulas(*crossed).relation == "equal"


def _has_other_solution(first: Formula, second: Formula) -> bool:
    names = sorted(names_in(first) | names_in(second))
    for name in sorted(names_in(first)):
        others = [other for other in names if other != name]
        for turn in range(2):
            solution = _solved(_at_place(first, others, turn), name)
            if solution is None:
                continue
            value = substitute(_at_place(second, others, turn), name, solution)
            if compare_formulas(value, _ZERO).relation == "different":
                return True
    return False


def _solved(formula: Formula, name: str) -> Formula | None:
    """Solve for `name` where the formula is of first degree in it."""
    values = [substitute(formula, name, Number(Fraction(at))) for at in (0, 1, 2, 5)]
    slope = Apply("-", (values[1], values[0]))
    if compare_formulas(slope, _ZERO).relation != "different":
        return None
    for at, value in ((2, values[2]), (5, values[3])):
        line = Apply("+", (values[0], Apply("*", (Number(Fraction(at)), slope))))
        if compare_formulas(value, line).relation != "equal":
            return None
    return Apply("neg", (Apply("/", (values[0], slope)),))


def _at_place(formula: Formula, names: list[str], turn: int) -> Formula:
    for place, name in enumerate(names):
        by = Number(Fraction(7 * place + 11 + 3 * turn, 5 + 2 * place))
        formula = substitute(formula, name, by)
    return formula
