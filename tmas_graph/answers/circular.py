"""Sine, cosine and their like; at rational multiples of pi the values are algebraic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flint import acb, arb, fmpq

from tmas_graph.answers.arithmetic import divide
from tmas_graph.answers.quantity import Bound, Quantity, rational
from tmas_graph.answers.syntax import Apply, Formula, Name

if TYPE_CHECKING:
    from tmas_graph.answers.evaluate import Evaluation

TRIGONOMETRIC = frozenset(("sin", "cos", "tan", "cot", "sec", "csc", "cis"))


def trigonometric(run: Evaluation, head: str, argument: Formula) -> Quantity:
    """Work out a circular function; at a rational multiple of pi the value is algebraic."""
    if head == "cis":
        run.of(Name("i"))  # undefined over the reals
        return run.sealed(acb(*_sine_and_cosine(run, argument)[::-1]), None)
    turn = _multiple_of_pi(run, argument)
    if turn is not None and turn.q < 10**6:
        run.adjoin_unity(int(turn.q) * 4)
        sine, cosine = (
            Quantity(ball=value if run.real else acb(value), bound=Bound(1, 1))
            for value in (arb.sin_pi_fmpq(turn), arb.cos_pi_fmpq(turn))
        )
        sine = rational(0) if turn.q == 1 else sine
        cosine = rational(0) if turn.q == 2 else cosine
    else:
        ball = run.ball(run.of(argument))
        sine, cosine = Quantity(ball=ball.sin()), Quantity(ball=ball.cos())
    match head:
        case "sin":
            return sine
        case "cos":
            return cosine
        case "tan":
            return divide(run, [sine, cosine])
        case "cot":
            return divide(run, [cosine, sine])
        case "sec":
            return divide(run, [rational(1), cosine])
        case _:
            return divide(run, [rational(1), sine])


def _sine_and_cosine(run: Evaluation, argument: Formula) -> tuple[arb, arb]:
    ball = run.ball(run.of(argument))
    angle = ball.real if isinstance(ball, acb) else ball
    return angle.sin(), angle.cos()


def _multiple_of_pi(run: Evaluation, formula: Formula) -> fmpq | None:
    """Give the rational factor of pi, as in `2pi/5` or `18 degrees`; None for anything else."""
    match formula:
        case Name("pi"):
            return fmpq(1)
        case Apply("degrees", (angle,)):
            value = run.of(angle).exact
            return None if value is None else value / 180
        case Apply("neg", (inner,)):
            turn = _multiple_of_pi(run, inner)
            return None if turn is None else -turn
        case Apply("/", (above, below)):
            turn, value = _multiple_of_pi(run, above), run.of(below).exact
            return None if turn is None or value is None or value == 0 else turn / value
        case Apply("*", factors):
            return _one_multiple(run, factors)
        case Apply("+" | "-" as sign, (first, second)):
            one, two = _multiple_of_pi(run, first), _multiple_of_pi(run, second)
            if one is None or two is None:
                return None
            return one + two if sign == "+" else one - two
    return None


def _one_multiple(run: Evaluation, factors: tuple[Formula, ...]) -> fmpq | None:
    total, turns = fmpq(1), 0
    for factor in factors:
        turn = _multiple_of_pi(run, factor)
        value = run.of(factor).exact if turn is None else turn
        if value is None:
            return None
        total, turns = total * value, turns + (turn is not None)
    return total if turns == 1 else None
