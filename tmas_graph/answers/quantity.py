r"""Values in an evaluation: exact rationals where possible, else balls that surely hold the value.

A ball carries a bound that tells when it is small enough to be zero: write the algebraic number as
U/L with algebraic integers U and L, all conjugates of which are at most u and l; if it has
degree D and isn't zero, then it is at least 1/(u^(D-1) l) (Burnikel, Funke, Mehlhorn, Schirra,
Schmitt, "A separation bound for real algebraic expressions", 2009). The logarithms of u and l
are what is kept; a ball without a bound may be transcendental.
"""

from dataclasses import dataclass
from typing import NamedTuple

from flint import acb, arb, fmpq, fmpz

from tmas_graph.answers.syntax import TooLarge

MAX_BITS = 400_000
"""The longest exact number that is worked out."""

Ball = arb | acb


class Undefined(Exception):
    """The formula has no value here: a division by zero, the root of a negative number."""


class Bound(NamedTuple):
    """The base-2 logarithms of the bounds of numerator and denominator."""

    above: float
    below: float


@dataclass(frozen=True, slots=True)
class Quantity:
    """One value: `exact`, or a `ball` that holds it."""

    exact: fmpq | None = None
    ball: Ball | None = None
    bound: Bound | None = None


def rational(value: fmpq | int) -> Quantity:
    """Wrap an exact value.

    Raises:
        TooLarge: it is too long to go on with.
    """
    exact = fmpq(value)
    if height(exact) > MAX_BITS:
        raise TooLarge(f"a number of more than {MAX_BITS} bits")
    return Quantity(exact=exact)


def height(value: fmpq) -> int:
    """Count the bits of the longer of numerator and denominator."""
    return max(value.p.bit_length(), value.q.bit_length())


def is_integer(value: fmpq | None) -> bool:
    """Is this an exact integer?"""
    return value is not None and value.q == 1


def small_integer(value: fmpq | None, limit: int, what: str) -> int:
    """Give an exact integer as an int.

    Raises:
        Undefined: it is none.
        TooLarge: it is beyond `limit`.
    """
    if value is None or value.q != 1:
        raise Undefined(f"{what} isn't a whole number")
    if abs(value) > limit:
        raise TooLarge(f"{what} is beyond {limit}")
    return int(value.p)


def bound_of(value: Quantity) -> Bound | None:
    """Give the separation bound of a value; None where it may be transcendental."""
    if value.exact is not None:
        return Bound(value.exact.p.bit_length(), value.exact.q.bit_length())
    return value.bound


def exact_root(value: fmpq, index: int) -> fmpq | None:
    """Give the exact root of a value that isn't negative, if it is rational."""
    if index > 10_000:
        return None
    above, below = value.p.root(index), value.q.root(index)
    if above**index == value.p and below**index == value.q:
        return fmpq(above, below)
    return None


def exact_log(value: fmpq, base: fmpq) -> fmpq | None:
    """Give the exact logarithm, if it is a whole number or the inverse of one."""
    if value <= 0 or base <= 0 or base == 1:
        return None
    for of, to, inverse in ((value, base, False), (base, value, True)):
        if to == 1 or height(of) > 20_000:
            continue
        guess = arb(of).log() / arb(to).log()
        near = (guess + arb(fmpq(1, 2))).floor().unique_fmpz()
        if near is not None and abs(near) < 20_000 and to ** int(near) == of and near != 0:
            return fmpq(1, near) if inverse else fmpq(near)
    return fmpq(0) if value == 1 else None


def whole(ball: Ball, up: bool) -> fmpz:
    """Round a ball down or up to an integer.

    Raises:
        Undefined: the ball holds a jump, at this precision.
    """
    if isinstance(ball, acb):
        raise Undefined("a complex number has no whole part")
    found = (ball.ceil() if up else ball.floor()).unique_fmpz()
    if found is None:
        raise Undefined("a whole part that can't be told")
    return found
