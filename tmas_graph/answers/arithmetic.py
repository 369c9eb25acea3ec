"""The four operations, powers and roots of quantities, with their separation bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from flint import acb, arb, fmpq

from tmas_graph.answers.quantity import (
    MAX_BITS,
    Ball,
    Bound,
    Quantity,
    Undefined,
    bound_of,
    exact_root,
    height,
    is_integer,
    rational,
    small_integer,
)
from tmas_graph.answers.syntax import Formula, Name, TooLarge

if TYPE_CHECKING:
    from tmas_graph.answers.evaluate import Evaluation

_MAX_EXPONENT = 10**12


def add(run: Evaluation, values: list[Quantity]) -> Quantity:
    """Add the values."""
    total = values[0]
    for value in values[1:]:
        if total.exact is not None and value.exact is not None:
            total = rational(total.exact + value.exact)
        else:
            total = run.sealed(run.ball(total) + run.ball(value), _sum_bound(total, value))
    return total


def subtract(run: Evaluation, values: list[Quantity]) -> Quantity:
    """Take the second value from the first."""
    return add(run, [values[0], negate(run, values[1:])])


def negate(run: Evaluation, values: list[Quantity]) -> Quantity:
    """Change the sign."""
    (value,) = values
    if value.exact is not None:
        return rational(-value.exact)
    return run.sealed(-run.ball(value), value.bound)


def multiply(run: Evaluation, values: list[Quantity]) -> Quantity:
    """Multiply the values."""
    total = values[0]
    for value in values[1:]:
        if total.exact is not None and value.exact is not None:
            _check(height(total.exact) + height(value.exact))
            total = rational(total.exact * value.exact)
        else:
            first, second = bound_of(total), bound_of(value)
            bound = (
                first and second and Bound(first.above + second.above, first.below + second.below)
            )
            total = run.sealed(run.ball(total) * run.ball(value), bound or None)
    return total


def divide(run: Evaluation, values: list[Quantity]) -> Quantity:
    """Divide the first value by the second."""
    above, below = values
    if below.exact is not None and above.exact is not None:
        if below.exact == 0:
            raise Undefined("a division by zero")
        _check(height(above.exact) + height(below.exact))
        return rational(above.exact / below.exact)
    first, second = bound_of(above), bound_of(below)
    bound = first and second and Bound(first.above + second.below, first.below + second.above)
    return run.sealed(run.ball(above) / run.ball(below), bound or None)


OPERATIONS: dict[str, Callable[[Evaluation, list[Quantity]], Quantity]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "neg": negate,
}


def power(run: Evaluation, base: Formula, exponent: Formula) -> Quantity:
    """Raise `base` to `exponent`; a rational exponent of odd denominator takes the real root."""
    raised = run.of(exponent)
    if base == Name("e") and not (raised.exact is not None and raised.exact == 0):
        return run.sealed(run.ball(raised).exp(), None)
    value = run.of(base)
    if raised.exact is None:
        return run.sealed(run.ball(value) ** run.ball(raised), None)
    if is_integer(raised.exact):
        return _integer_power(run, value, raised.exact)
    index = raised.exact.q
    if index > 10**6:
        return run.sealed(run.ball(value) ** run.ball(raised), None)
    key = ("root", base, value.exact and str(value.exact), int(index))
    rooted = _rooted(run, value, int(index), key)
    return _integer_power(run, rooted, fmpq(raised.exact.p))


def root(run: Evaluation, base: Formula, index: Formula) -> Quantity:
    """Take the root of a positive whole index."""
    order = small_integer(run.of(index).exact, 10**12, "the index of a root")
    if order < 1:
        raise Undefined("a root of index zero")
    value = run.of(base)
    return _rooted(run, value, order, ("root", base, value.exact and str(value.exact), order))


def power_modulo(run: Evaluation, parts: tuple[Formula, Formula, Formula]) -> Quantity:
    """Work out a power's remainder without the power itself."""
    base, exponent, modulus = (run.of(part).exact for part in parts)
    if base is None or exponent is None or modulus is None or exponent < 0 or modulus <= 0:
        raise Undefined("a remainder of no whole numbers")
    if not (is_integer(base) and is_integer(exponent) and is_integer(modulus)):
        raise Undefined("a remainder of no whole numbers")
    if max(map(height, (base, exponent, modulus))) > 20_000:
        raise TooLarge("a remainder of very long numbers")
    return rational(pow(int(base.p), int(exponent.p), int(modulus.p)))


def _integer_power(run: Evaluation, value: Quantity, exponent: fmpq) -> Quantity:
    if exponent == 1:
        return value
    if value.exact is not None:
        return rational(_exact_power(value.exact, exponent))
    if abs(exponent) > _MAX_EXPONENT:
        raise TooLarge("an exponent of more than twelve digits")
    times = abs(int(exponent.p))
    bound = None
    if value.bound is not None:
        bound = Bound(*(part * times for part in value.bound))
        bound = Bound(bound.below, bound.above) if exponent < 0 else bound
    return run.sealed(run.ball(value) ** exponent.p, bound)


def _exact_power(base: fmpq, exponent: fmpq) -> fmpq:
    if base == 0 and exponent <= 0:
        raise Undefined("zero to a power that isn't positive")
    if base in (0, 1):
        return base
    if base == -1:
        return base if exponent.p % 2 else -base
    _check(height(base) * abs(int(exponent.p)))
    return base ** int(exponent.p)


def _rooted(run: Evaluation, value: Quantity, index: int, key: object) -> Quantity:
    if index == 1:
        return value
    negative = _is_negative(run, value)
    if negative:
        if index % 2 and run.real:
            return negate(run, [_rooted(run, negate(run, [value]), index, key)])
        if run.real:
            raise Undefined("an even root of a negative number")
    elif value.exact is not None and (found := exact_root(value.exact, index)) is not None:
        return rational(found)
    run.adjoin_root(key, index)
    return run.sealed(_ball_root(run.ball(value), index), _root_bound(bound_of(value), index))


def _ball_root(ball: Ball, index: int) -> Ball:
    if index == 2:
        return ball.sqrt()
    if ball.contains(0):
        return ball.root(index) if index < 1000 else ball
    exponent = arb(fmpq(1, index))
    return ball ** (acb(exponent) if isinstance(ball, acb) else exponent)


def _is_negative(run: Evaluation, value: Quantity) -> bool:
    if value.exact is not None:
        return bool(value.exact < 0)
    ball = run.ball(value)
    return isinstance(ball, arb) and bool(ball < 0)


def _root_bound(bound: Bound | None, index: int) -> Bound | None:
    if bound is None:
        return None
    above, below = bound
    if above >= below:
        return Bound((above + (index - 1) * below) / index, below)
    return Bound(above, ((index - 1) * above + below) / index)


def _sum_bound(first: Quantity, second: Quantity) -> Bound | None:
    one, two = bound_of(first), bound_of(second)
    if one is None or two is None:
        return None
    return Bound(max(one.above + two.below, one.below + two.above) + 1, one.below + two.below)


def _check(bits: int) -> None:
    if bits > 2 * MAX_BITS:
        raise TooLarge(f"a number of more than {MAX_BITS} bits")
