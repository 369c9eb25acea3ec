"""What an answer is once it has been read: a value, group, region, matrix, claim, or words."""

from dataclasses import dataclass
from typing import Literal

from tmas_graph.answers.syntax import Formula


@dataclass(frozen=True, slots=True)
class Value:
    """A number or formula, perhaps given a name (`x = 3`, `f(x) = 2x`)."""

    formula: Formula
    name: str = ""
    parameters: tuple[str, ...] = ()
    unit: str = ""
    """Empty where there is none; `%` and the degree sign are units of their own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Several answers: a list in any order, a set, or a tuple in order."""

    kind: Literal["list", "set", "tuple"]
    items: "tuple[Answer, ...]"
    brackets: str = ""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval; an end is None where it is infinite."""

    low: Formula | None
    high: Formula | None
    low_closed: bool = False
    high_closed: bool = False


@dataclass(frozen=True, slots=True)
class Region:
    """A union of intervals and points, less some points; perhaps what a named number lies in."""

    parts: tuple[Interval, ...]
    without: tuple[Formula, ...] = ()
    name: str = ""
    listed: bool = False
    """The parts were listed: `x < 1, x > 2` is a union, `x > 1, x < 2` may not be one."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows of formulas."""

    rows: tuple[tuple[Formula, ...], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """An equation, inequality or congruence that isn't a name with its value."""

    sign: str
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Words:
    """What isn't mathematics alone; `why` says what was left over."""

    text: str
    why: str = ""


Answer = Value | Group | Region | Matrix | Claim | Words
