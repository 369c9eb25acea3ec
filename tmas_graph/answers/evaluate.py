"""Work out a formula, exactly where it is rational, else in balls of the precision in force.

Only arithmetic is done, by the FLINT library on trees of our own: no text is ever evaluated.
"""

from collections.abc import Callable, Mapping
from math import lcm
from random import Random

from flint import acb, arb, fmpq, fmpz

from tmas_graph.answers import arithmetic, circular, functions
from tmas_graph.answers.quantity import Ball, Bound, Quantity, Undefined, rational, small_integer
from tmas_graph.answers.syntax import Apply, Formula, Name, Number, TooLarge

MAX_STEPS = 60_000
MAX_TERMS = 10_000
_MAX_DEGREE = 1 << 40


class Evaluation:
    """One pass over a formula at the values `at`; counts what the separation bound needs."""

    def __init__(self, at: Mapping[str, fmpq], *, real: bool) -> None:
        """Take the values of the variables; `real` leaves roots of negative numbers undefined."""
        self.at = dict(at)
        self.real = real
        self.weight = 0
        self.scale = 0
        self.steps = 0
        self._radicals = dict[object, int]()
        self._unity = 1

    @property
    def degree(self) -> int:
        """Bound the degree of the field that all values lie in."""
        degree = self._unity
        for index in self._radicals.values():
            degree *= index
            if degree > _MAX_DEGREE:
                return _MAX_DEGREE
        return degree

    def spread(self, bits: int) -> None:
        """Note how far from 1 a value lies, in bits: `1 + e^{-9999}` isn't 1."""
        self.scale = max(self.scale, bits)

    def adjoin_root(self, key: object, index: int) -> None:
        """Note that a root of this index has entered the field."""
        self._radicals[key] = max(index, self._radicals.get(key, 1))

    def adjoin_unity(self, order: int) -> None:
        """Note that a root of unity of this order has entered the field."""
        self._unity = min(lcm(self._unity, order), _MAX_DEGREE)

    def ball(self, value: Quantity) -> Ball:
        """Give a value as a ball at the precision in force."""
        if value.ball is not None:
            return value.ball
        assert value.exact is not None
        self.weight += value.exact.p.bit_length() + value.exact.q.bit_length()
        return arb(value.exact) if self.real else acb(arb(value.exact))

    def sealed(self, ball: Ball, bound: Bound | None) -> Quantity:
        """Wrap a ball.

        Raises:
            Undefined: it isn't finite, so the formula has no value here.
        """
        if not ball.is_finite():
            raise Undefined("no finite value")
        if not ball.contains(0):
            mantissa, exponent = ball.abs_upper().man_exp()
            self.spread(abs(int(mantissa.bit_length() + exponent)))
        return Quantity(ball=ball, bound=bound)

    def of(self, formula: Formula) -> Quantity:
        """Work out `formula`.

        Raises:
            Undefined: it has no value here.
            TooLarge: a limit was met.
        """
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooLarge(f"more than {MAX_STEPS} steps")
        match formula:
            case Number(value):
                return rational(fmpq(value.numerator, value.denominator))
            case Name(text):
                return self._name(text)
            case Apply("sum" | "prod" as head, (body, Name(index), low, high)):
                return self._series(head, body, index, (low, high))
            case Apply(head, arguments) if head.startswith("call:"):
                return self._unknown(head, [self.of(argument) for argument in arguments])
            case Apply("^", (base, exponent)):
                return arithmetic.power(self, base, exponent)
            case Apply("root", (base, index)):
                return arithmetic.root(self, base, index)
            case Apply("mod", (Apply("^", (base, exponent)), modulus)):
                return arithmetic.power_modulo(self, (base, exponent, modulus))
            case Apply(head, arguments):
                return self._apply(head, arguments)

    def _apply(self, head: str, arguments: tuple[Formula, ...]) -> Quantity:
        if head in circular.TRIGONOMETRIC and len(arguments) == 1:
            return circular.trigonometric(self, head, arguments[0])
        values = [self.of(argument) for argument in arguments]
        if head in ("+", "-", "*", "/", "neg"):
            return arithmetic.OPERATIONS[head](self, values)
        if head in functions.TABLE:
            return functions.TABLE[head](self, values)
        raise Undefined(f'"{head}" has no value')

    def _name(self, text: str) -> Quantity:
        if text in self.at:
            return rational(self.at[text])
        if text == "pi":
            return self.sealed(self._lift(arb.pi()), None)
        if text == "e":
            return self.sealed(self._lift(arb.const_e()), None)
        if text == "i" and not self.real:
            self.adjoin_unity(4)
            return self.sealed(acb(0, 1), Bound(0, 0))
        raise Undefined(f'"{text}" has no value')

    def _lift(self, ball: arb) -> Ball:
        return ball if self.real else acb(ball)

    def _unknown(self, head: str, values: list[Quantity]) -> Quantity:
        """Give an unknown function some value that depends on its arguments alone."""
        if any(value.exact is None for value in values):
            raise Undefined(f'"{head}" at an irrational place')
        draw = Random(f"{head} {[str(value.exact) for value in values]}")
        return rational(fmpq(draw.randrange(1, 10**6), 997))

    def _series(
        self, head: str, body: Formula, index: str, ends: tuple[Formula, Formula]
    ) -> Quantity:
        low, high = (small_integer(self.of(end).exact, 10**9, "an end") for end in ends)
        if high - low >= MAX_TERMS:
            raise TooLarge(f"more than {MAX_TERMS} terms")
        combine: Callable[[Evaluation, list[Quantity]], Quantity]
        combine = arithmetic.OPERATIONS["+" if head == "sum" else "*"]
        total, before = rational(0 if head == "sum" else 1), self.at.get(index)
        for place in range(low, high + 1):
            self.at[index] = fmpq(fmpz(place))
            total = combine(self, [total, self.of(body)])
        if before is None:
            self.at.pop(index, None)
        else:
            self.at[index] = before
        return total
