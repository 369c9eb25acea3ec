"""The functions that a formula may use, on quantities; the circular ones are in circular.py."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import acb, fmpq, fmpz

from tmas_graph.answers.arithmetic import divide, multiply
from tmas_graph.answers.quantity import (
    MAX_BITS,
    Bound,
    Quantity,
    Undefined,
    bound_of,
    exact_log,
    rational,
    small_integer,
    whole,
)
from tmas_graph.answers.syntax import Apply, Name, Number, TooLarge

if TYPE_CHECKING:
    from tmas_graph.answers.evaluate import Evaluation

_MAX_FACTORIAL = 20_000


def _by_ball(method: str) -> Callable[[Evaluation, list[Quantity]], Quantity]:
    def apply(run: Evaluation, values: list[Quantity]) -> Quantity:
        (value,) = values
        return run.sealed(getattr(run.ball(value), method)(), None)

    return apply


def _hyperbolic_tangent(run: Evaluation, values: list[Quantity]) -> Quantity:
    twice = multiply(run, [rational(2), values[0]])
    run.sealed(run.ball(twice).exp(), None)  # so that the distance from 1 is noted
    return run.sealed(run.ball(values[0]).tanh(), None)


def _logarithm(run: Evaluation, values: list[Quantity]) -> Quantity:
    value, *bases = values
    base = bases[0].exact if bases else None
    if value.exact is not None and value.exact == 1:
        return rational(0)
    if value.exact is not None and base is not None:
        found = exact_log(value.exact, base)
        if found is not None:
            return rational(found)
    natural = run.sealed(run.ball(value).log(), None)
    if not bases:
        return natural
    return divide(run, [natural, run.sealed(run.ball(bases[0]).log(), None)])


def _common_logarithm(run: Evaluation, values: list[Quantity]) -> Quantity:
    return _logarithm(run, [*values, rational(10)])


def _exponential(run: Evaluation, values: list[Quantity]) -> Quantity:
    (value,) = values
    if value.exact is not None and value.exact == 0:
        return rational(1)
    return run.sealed(run.ball(value).exp(), None)


def _absolute(run: Evaluation, values: list[Quantity]) -> Quantity:
    (value,) = values
    if value.exact is not None:
        return rational(abs(value.exact))
    ball = run.ball(value)
    if isinstance(ball, acb):
        return run.sealed(acb(abs(ball)), None)
    return run.sealed(abs(ball), value.bound)


def _rounded(up: bool) -> Callable[[Evaluation, list[Quantity]], Quantity]:
    def apply(run: Evaluation, values: list[Quantity]) -> Quantity:
        (value,) = values
        if value.exact is not None:
            return rational(fmpq(value.exact.ceil() if up else value.exact.floor()))
        return rational(fmpq(whole(run.ball(value), up)))

    return apply


def _factorial(run: Evaluation, values: list[Quantity]) -> Quantity:
    (value,) = values
    if value.exact is not None and value.exact.q == 1:
        number = small_integer(value.exact, _MAX_FACTORIAL, "a factorial")
        if number < 0:
            raise Undefined("the factorial of a negative number")
        return rational(fmpq(fmpz.fac_ui(fmpz(number))))
    return run.sealed((run.ball(value) + 1).gamma(), None)


def _double_factorial(run: Evaluation, values: list[Quantity]) -> Quantity:
    number = small_integer(values[0].exact, _MAX_FACTORIAL, "a double factorial")
    if number < -1:
        raise Undefined("the double factorial of a negative number")
    total = fmpz(1)
    for factor in range(number, 1, -2):
        total *= factor
    return rational(fmpq(total))


def _binomial(run: Evaluation, values: list[Quantity]) -> Quantity:
    above, below = (value.exact for value in values)
    if above is None or below is None or below.q != 1:
        raise Undefined("a binomial coefficient of no whole numbers")
    if above.q == 1 and 0 <= below <= above:
        below = min(below, above - below)
    if below < 0:
        return rational(0)
    count = small_integer(below, _MAX_FACTORIAL, "a binomial coefficient")
    if count * (above.p.bit_length() + above.q.bit_length()) > 4 * MAX_BITS:
        raise TooLarge("a binomial coefficient of very many digits")
    if above.q == 1 and 0 <= above < 2**60:
        return rational(fmpq(fmpz.bin_uiui(int(above.p), count)))
    total = fmpq(1)
    for place in range(count):
        total = total * (above - place) / (place + 1)
    return rational(total)


def _over_integers(
    combine: Callable[[fmpz, fmpz], fmpz],
) -> Callable[[Evaluation, list[Quantity]], Quantity]:
    def apply(run: Evaluation, values: list[Quantity]) -> Quantity:
        wholes = [
            value.exact.p for value in values if value.exact is not None and value.exact.q == 1
        ]
        if len(wholes) < len(values):
            raise Undefined("not all are whole numbers")
        total = wholes[0]
        for value in wholes[1:]:
            total = combine(total, value)
        return rational(fmpq(total))

    return apply


def _remainder(first: fmpz, second: fmpz) -> fmpz:
    if second == 0:
        raise Undefined("a remainder by zero")
    return first % second


def _extreme(largest: bool) -> Callable[[Evaluation, list[Quantity]], Quantity]:
    def apply(run: Evaluation, values: list[Quantity]) -> Quantity:
        exact = [value.exact for value in values if value.exact is not None]
        if len(exact) == len(values):
            return rational(max(exact) if largest else min(exact))
        total, *others = (run.ball(value) for value in values)
        for other in others:
            if isinstance(total, acb) or isinstance(other, acb):
                raise Undefined("complex numbers have no order")
            total = total.max(other) if largest else total.min(other)
        return run.sealed(total, _extreme_bound(values))

    return apply


def _extreme_bound(values: list[Quantity]) -> Bound | None:
    bounds = [bound for bound in map(bound_of, values) if bound is not None]
    if len(bounds) < len(values):
        return None
    return Bound(max(b.above for b in bounds), max(b.below for b in bounds))


def _degrees(run: Evaluation, values: list[Quantity]) -> Quantity:
    turned = run.of(Apply("/", (Name("pi"), Number(Fraction(180)))))
    return multiply(run, [values[0], turned])


TABLE: dict[str, Callable[[Evaluation, list[Quantity]], Quantity]] = {
    "log": _logarithm,
    "ln": _logarithm,
    "lg": _common_logarithm,
    "exp": _exponential,
    "abs": _absolute,
    "floor": _rounded(up=False),
    "ceil": _rounded(up=True),
    "!": _factorial,
    "!!": _double_factorial,
    "binom": _binomial,
    "gcd": _over_integers(lambda a, b: a.gcd(b)),
    "lcm": _over_integers(lambda a, b: a.lcm(b)),
    "mod": _over_integers(_remainder),
    "max": _extreme(largest=True),
    "min": _extreme(largest=False),
    "degrees": _degrees,
    "arcsin": _by_ball("asin"),
    "arccos": _by_ball("acos"),
    "arctan": _by_ball("atan"),
    "sinh": _by_ball("sinh"),
    "cosh": _by_ball("cosh"),
    "tanh": _hyperbolic_tangent,
}
"""Function by head; the circular ones are in circular.py."""
