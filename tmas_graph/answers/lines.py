"""Bring sets of real numbers into one form and compare them; ends are compared exactly."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key

from tmas_graph.answers.answer import Interval, Region
from tmas_graph.answers.identity import compare_formulas, sign_of
from tmas_graph.answers.syntax import Apply, Formula, Number, names_in


class Unordered(Exception):
    """Two ends can't be put in order."""


@dataclass(frozen=True, slots=True)
class End:
    """An end: before or after a number (`side` -1 or +1), or at infinity (`infinite`)."""

    at: Formula
    side: int
    infinite: int = 0


Piece = tuple[End, End]


def same_region(first: Region, second: Region) -> bool | None:
    """Are the two regions the same set? None where their ends can't be put in order."""
    if _has_names(first) or _has_names(second):
        return _same_as_written(first, second)
    try:
        one, two = _merged(first), _merged(second)
        return len(one) == len(two) and all(
            _order(a, b) == 0
            for left, right in zip(one, two, strict=True)
            for a, b in zip(left, right, strict=True)
        )
    except Unordered:
        return None


def _merged(region: Region) -> list[Piece]:
    pieces = [piece for piece in map(_ends, region.parts) if _order(*piece) < 0]
    pieces.sort(key=cmp_to_key(_by_start))
    merged = list[Piece]()
    for piece in pieces:
        if merged and region.listed and _order(piece[0], merged[-1][1]) < 0:
            raise Unordered  # the parts overlap: perhaps all of them must hold
        if merged and _order(piece[0], merged[-1][1]) <= 0:
            low, high = merged[-1]
            merged[-1] = (low, high if _order(piece[1], high) <= 0 else piece[1])
        else:
            merged.append(piece)
    for point in region.without:
        merged = [kept for piece in merged for kept in _without(piece, point)]
    return merged


def _by_start(first: Piece, second: Piece) -> int:
    return _order(first[0], second[0])


def _ends(part: Interval) -> Piece:
    nothing = Number(Fraction(0))
    low = End(part.low, -1 if part.low_closed else 1) if part.low else End(nothing, 0, -1)
    high = End(part.high, 1 if part.high_closed else -1) if part.high else End(nothing, 0, 1)
    return low, high


def _without(piece: Piece, point: Formula) -> list[Piece]:
    before, after = End(point, -1), End(point, 1)
    halves = [(piece[0], before), (after, piece[1])]
    if _order(piece[0], before) > 0 or _order(after, piece[1]) > 0:
        return [piece]
    return [half for half in halves if _order(*half) < 0]


def _order(first: End, second: End) -> int:
    if first.infinite or second.infinite:
        return first.infinite - second.infinite
    sign = sign_of(Apply("-", (first.at, second.at)))
    if sign is None:
        raise Unordered
    return sign or first.side - second.side


def _has_names(region: Region) -> bool:
    ends = [end for part in region.parts for end in (part.low, part.high) if end]
    return any(names_in(end) for end in (*ends, *region.without))


def _same_as_written(first: Region, second: Region) -> bool | None:
    """Compare regions with letters in their ends part by part, as they stand."""
    if len(first.parts) != len(second.parts) or first.without or second.without:
        return None
    for one, two in zip(first.parts, second.parts, strict=True):
        if (one.low_closed, one.high_closed) != (two.low_closed, two.high_closed):
            return None
        for a, b in ((one.low, two.low), (one.high, two.high)):
            if (a is None) != (b is None):
                return False
            if a and b and compare_formulas(a, b).relation != "equal":
                return False if compare_formulas(a, b).relation == "different" else None
    return True
