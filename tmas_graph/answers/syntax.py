"""The tree of a formula: numbers, names and applications, all frozen and hashable."""

from dataclasses import dataclass
from fractions import Fraction

CONSTANTS = frozenset({"pi", "e", "i", "infty"})
"""Names with a value of their own."""


@dataclass(frozen=True, slots=True)
class Number:
    """An exact number; `digits` counts the significant ones where it was written as a decimal."""

    value: Fraction
    digits: int = 0


@dataclass(frozen=True, slots=True)
class Name:
    """A variable or constant, its subscript included."""

    text: str


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator, a function of the table in evaluate.py, or (`call:f`) an unknown function."""

    head: str
    arguments: tuple["Formula", ...]


Formula = Number | Name | Apply


class Unreadable(Exception):
    """The text is not a formula of the restricted grammar; the message says where it stops."""


class TooLarge(Exception):
    """A value, a tree or a text passes a limit; the message names it."""


def names_in(formula: Formula) -> frozenset[str]:
    """Collect the free variables (constants, bound indices and called functions left out)."""
    match formula:
        case Number():
            return frozenset()
        case Name(text):
            return frozenset() if text in CONSTANTS else frozenset({text})
        case Apply("sum" | "prod", (body, Name(index), low, high)):
            return (names_in(body) - {index}) | names_in(low) | names_in(high)
        case Apply(head, arguments):
            called = {head} if head.startswith("call:") else set[str]()
            return frozenset(called).union(*map(names_in, arguments))


def called_in(formula: Formula) -> bool:
    """Is there a function whose definition nobody knows?"""
    return any(name.startswith("call:") for name in names_in(formula))


def has_imaginary(formula: Formula) -> bool:
    """Does the imaginary unit occur? The index of a sum may be called i as well."""
    if isinstance(formula, Apply) and formula.head in ("sum", "prod"):
        body, index, *ends = formula.arguments
        inside = index != Name("i") and has_imaginary(body)
        return inside or any(map(has_imaginary, ends))
    if isinstance(formula, Apply):
        return any(map(has_imaginary, formula.arguments))
    return formula == Name("i")


def substitute(formula: Formula, name: str, by: Formula) -> Formula:
    """Put `by` in place of the variable `name`."""
    if isinstance(formula, Apply):
        inner = tuple(substitute(argument, name, by) for argument in formula.arguments)
        return Apply(formula.head, inner)
    return by if formula == Name(name) else formula
