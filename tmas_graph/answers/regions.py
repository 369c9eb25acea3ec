"""Sets of real numbers: intervals, points, unions, complements of points."""

from collections.abc import Callable

from tmas_graph.answers.answer import Answer, Group, Interval, Region, Value
from tmas_graph.answers.brackets import Tokens, split_at_text
from tmas_graph.answers.grammar import read_formula
from tmas_graph.answers.syntax import Apply, Formula, Name, Unreadable

WHOLE_LINE = Interval(None, None)
TURNED = str.maketrans("<>", "><")
_INFINITE = Name("infty")


def everything() -> Region:
    """Give the whole line."""
    return Region((WHOLE_LINE,))


def half_line(sign: str, end: Formula, name: str) -> Region:
    """Give what is on one side of `end`."""
    closed = sign.endswith("=")
    if sign[0] == "<":
        return Region((Interval(None, _finite(end), high_closed=closed),), (), name)
    return Region((Interval(_finite(end), None, low_closed=closed),), (), name)


def between(low: Formula, high: Formula, signs: list[str], name: str) -> Region:
    """Give what a chain such as `-2 <= x < 7` describes."""
    closed = [sign.endswith("=") for sign in signs]
    if signs[0][0] == ">":
        low, high, closed = high, low, closed[::-1]
    return Region((Interval(_finite(low), _finite(high), *closed),), (), name)


def read_interval(tokens: Tokens) -> Region | None:
    """Read `[a,b)`, `[a,b]` or brackets that hold an infinity; `(a,b)` may be a pair: None."""
    if len(tokens) < 5 or tokens[0].text not in "([" or tokens[-1].text not in ")]":
        return None
    ends = split_at_text(tokens[1:-1], ",", ";")
    if len(ends) != 2 or not all(ends):
        return None
    low, high = map(read_formula, ends)
    if low == _INFINITE or high == Apply("neg", (_INFINITE,)):
        raise Unreadable("an interval whose ends are the wrong way round")
    infinite = low == Apply("neg", (_INFINITE,)) or high == _INFINITE
    if tokens[0].text + tokens[-1].text == "()" and not infinite:
        return None
    return Region(
        (Interval(_finite(low), _finite(high), tokens[0].text == "[", tokens[-1].text == "]"),)
    )


def read_union(tokens: Tokens, read: Callable[[Tokens], Answer]) -> Region | None:
    r"""Read a union, or a difference by points; None where there is no set operation."""
    parts = split_at_text(tokens, r"\cup")
    if len(parts) > 1:
        regions = [as_region(read(part)) for part in parts]
        return Region(
            tuple(part for region in regions for part in region.parts),
            tuple(point for region in regions for point in region.without),
        )
    pair = split_at_text(tokens, r"\setminus", r"\backslash")
    if len(pair) != 2:
        return None
    whole, taken = as_region(read(pair[0])), as_region(read(pair[1]))
    points = tuple(part.low for part in taken.parts if part.low and part.low == part.high)
    if len(points) < len(taken.parts):
        raise Unreadable("a difference of sets that isn't by points")
    return Region(whole.parts, (*whole.without, *points))


def as_region(answer: Answer) -> Region:
    """Take a pair for an open interval and a finite set for points.

    Raises:
        Unreadable: it is no set of real numbers.
    """
    if isinstance(answer, Region):
        return answer
    if isinstance(answer, Group) and answer.kind == "list" and answer.items:
        return _listed(answer)
    if isinstance(answer, Group) and all(isinstance(item, Value) for item in answer.items):
        ends = [item.formula for item in answer.items if isinstance(item, Value)]
        if answer.kind == "tuple" and answer.brackets == "()" and len(ends) == 2:
            return Region((Interval(ends[0], ends[1]),))
        if answer.kind == "set":
            return Region(tuple(Interval(end, end, True, True) for end in ends))
    raise Unreadable("no set of real numbers")


def _listed(group: Group) -> Region:
    """Take a list such as `x < 1 or x = 2` for a union, if one number is meant throughout."""
    parts, names = list[Interval](), set[str]()
    for item in group.items:
        if isinstance(item, Region) and not item.without:
            parts.extend(item.parts)
        elif isinstance(item, Value) and item.name:
            parts.append(Interval(item.formula, item.formula, True, True))
        else:
            raise Unreadable("a list of sets and other things")
        names.add(item.name)
    if len(names) != 1:
        raise Unreadable("a list of sets for different numbers")
    return Region(tuple(parts), (), names.pop(), listed=True)


def _finite(end: Formula) -> Formula | None:
    return None if end in (_INFINITE, Apply("neg", (_INFINITE,))) else end
