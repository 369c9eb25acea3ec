"""Are two formulas equal? Proved where it can be, never by a float.

Constants: the difference is worked out in balls of growing precision. A ball without zero proves
that the two differ. For algebraic numbers a ball inside the separation bound proves that they are
equal; for others (logarithms, pi, …) agreement to more than a thousand digits, and to many times
more than were written in the formula, is taken for equality and said so.

Variables: the formulas are compared in this way at places drawn once and for all. Two different
formulas agree at none or at few of them. A place counts only where both formulas have a value
over the reals (over the complex numbers if the imaginary unit occurs): the root of a variable is
compared where the variable isn't negative.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

import flint
from flint import acb, fmpq

from tmas_graph.answers.evaluate import Evaluation
from tmas_graph.answers.quantity import Quantity, Undefined, bound_of
from tmas_graph.answers.syntax import Apply, Formula, has_imaginary, names_in

Relation = Literal["equal", "different", "unknown"]

PLACES = 14
_FEWEST = 5
_FIRST_PRECISION = 192
_UNPROVED_BITS = 3_600
_MAX_PRECISION = 150_000
_HOPELESS_PRECISION = 160_000
_WHOLE_NAMES = frozenset("ijklmnpqrstNMK")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two formulas relate, and by what argument."""

    relation: Relation
    why: str


def compare_formulas(first: Formula, second: Formula) -> Comparison:
    """Compare two formulas.

    Raises:
        TooLarge: a value passes a limit.
    """
    if first == second:
        return Comparison("equal", "the formulas are the same")
    difference = Apply("-", (first, second))
    names = sorted(names_in(difference) - {n for n in names_in(difference) if n[:5] == "call:"})
    imaginary = has_imaginary(difference)
    if not names:
        return _constants(difference, imaginary)
    found = None
    if not _counts(difference):
        found = _at_places(difference, _places(names), real=not imaginary)
    if found is None and not imaginary:
        found = _at_places(difference, _whole_places(names), real=True)
    if found is None and not _counts(difference):
        found = _at_places(difference, _places(names), real=False)
    if found is None:
        return Comparison("unknown", "the formulas have no values to compare")
    whole = set(names) <= _WHOLE_NAMES or _rounds(difference)
    if found.relation == "different" and whole and not imaginary:
        return _unless_whole(difference, names, found)
    return found


def sign_of(formula: Formula) -> int | None:
    """Give the sign of a real constant; None where it can't be told."""
    try:
        relation = _constants(formula, imaginary=False).relation
        if relation == "equal":
            return 0
        with flint.ctx.workprec(_FIRST_PRECISION * 8):
            run = Evaluation({}, real=True)
            ball = run.ball(run.of(formula))
            return None if isinstance(ball, acb) or ball.contains(0) else (1 if ball > 0 else -1)
    except Undefined:
        return None


def zero_at(formula: Formula, at: Mapping[str, fmpq], *, real: bool) -> Comparison:
    """Is the value of `formula` at this place zero?

    Raises:
        Undefined: it has no value there.
        TooLarge: a limit was met.
    """
    precision = _FIRST_PRECISION
    while True:
        with flint.ctx.workprec(precision):
            run = Evaluation(at, real=real)
            value = run.of(formula)
            if value.exact is not None:
                same = value.exact == 0
                return Comparison("equal" if same else "different", "exact arithmetic")
            ball = run.ball(value)
            if not ball.contains(0):
                return Comparison("different", "a difference that is surely not zero")
            needed, proved = _needed_bits(run, value)
            if needed <= precision and _below(ball, needed):
                return Comparison("equal", _argument(needed, proved))
        if precision >= min(_HOPELESS_PRECISION, needed + 4 * run.weight + 20_000):
            return Comparison("unknown", f"no difference in {precision} bits, and no proof")
        if needed > _MAX_PRECISION:  # equality can't be shown: look once more for a difference
            precision = _HOPELESS_PRECISION
            continue
        precision = max(needed + 64 + run.weight // 8, 2 * precision if precision > needed else 0)


def _constants(difference: Formula, imaginary: bool) -> Comparison:
    for real in (False,) if imaginary else (True, False):
        try:
            return zero_at(difference, {}, real=real)
        except Undefined as reason:
            why = str(reason)
    return Comparison("unknown", f"no value: {why}")


def _needed_bits(run: Evaluation, value: Quantity) -> tuple[int, bool]:
    """Count the bits that tell zero from anything else; True where that is a proof."""
    bound = bound_of(value)
    if bound is not None:
        needed = (run.degree - 1) * max(bound.above, 0.0) + bound.below + 8
        if needed <= _MAX_PRECISION:
            return int(needed), True
    return _UNPROVED_BITS + 8 * run.weight + 4 * run.scale, False


def _below(ball: flint.arb | flint.acb, bits: int) -> bool:
    mantissa, exponent = ball.abs_upper().man_exp()
    return bool(mantissa == 0) or int(mantissa.bit_length() + exponent) < -bits


def _argument(bits: int, proved: bool) -> str:
    if proved:
        return "the difference is below the separation bound, so it is zero"
    return f"agreement to {int(bits * 0.301)} digits"


def _at_places(
    difference: Formula, places: Iterator[Mapping[str, fmpq]], *, real: bool
) -> Comparison | None:
    """Compare at each place; None where too few places have a value."""
    valid, unknown = 0, None
    for place in places:
        try:
            found = zero_at(difference, place, real=real)
        except Undefined:
            continue
        if found.relation == "different":
            shown = ", ".join(f"{name} = {value}" for name, value in place.items())
            return Comparison("different", f"different at {shown}")
        valid += 1
        unknown = found if found.relation == "unknown" else unknown
    if valid < _FEWEST:
        return None
    return unknown or Comparison("equal", f"equal at {valid} places drawn at random")


def _counts(formula: Formula) -> bool:
    """Does a sum, product or double factorial need a variable to be a whole number?"""
    match formula:
        case Apply("sum" | "prod" | "!!", _) if names_in(formula):
            return True
        case Apply(_, arguments):
            return any(map(_counts, arguments))
    return False


def _rounds(formula: Formula) -> bool:
    """Is a whole part taken of a variable, which is then mostly a whole number itself?"""
    if not isinstance(formula, Apply):
        return False
    inside = formula.head in ("floor", "ceil") and bool(names_in(formula))
    return inside or any(map(_rounds, formula.arguments))


def _unless_whole(difference: Formula, names: list[str], found: Comparison) -> Comparison:
    """Leave open what differs only where an index is no whole number."""
    whole = _at_places(difference, _whole_places(names), real=True)
    if whole is not None and whole.relation == "equal":
        return Comparison("unknown", "equal at whole numbers, different elsewhere")
    return found


def _places(names: list[str]) -> Iterator[dict[str, fmpq]]:
    """Draw the places: positive, negative, near zero, large; the same in every process."""
    draw = Random("places")
    for turn in range(PLACES):
        place = dict[str, fmpq]()
        for name in names:
            value = fmpq(draw.randrange(2, 60), draw.choice((1, 3, 5, 7)))
            value = value / 61 if turn % 4 == 1 else value + 1009 if turn % 7 == 3 else value
            place[name] = -value if turn >= 9 and (turn < 11 or draw.random() < 0.5) else value
        yield place


def _whole_places(names: list[str]) -> Iterator[dict[str, fmpq]]:
    draw = Random("whole places")
    for turn in range(PLACES):
        yield {name: fmpq(turn + 1 if turn < 4 else draw.randrange(1, 24)) for name in names}
