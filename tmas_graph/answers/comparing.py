"""Compare two answers that have been read; every pair of shapes ends in one verdict."""

from tmas_graph.answers import claims, groups, lines
from tmas_graph.answers.answer import Answer, Claim, Group, Matrix, Region, Value, Words
from tmas_graph.answers.regions import as_region
from tmas_graph.answers.syntax import Name, Unreadable, names_in
from tmas_graph.answers.values import compare_values
from tmas_graph.answers.verdict import Verdict, correct, incorrect, unsure
from tmas_graph.answers.wording import compare_words


def compare(pred: Answer, gold: Answer) -> Verdict:
    """Compare two answers; the order of the two doesn't matter.

    Raises:
        TooLarge: a value passes a limit.
    """
    pred, gold = _unwrapped(pred), _unwrapped(gold)
    match pred, gold:
        case (Words(), _) | (_, Words()):
            return compare_words(pred, gold)
        case Value(), Value():
            return compare_values(pred, gold)
        case Matrix(), Matrix():
            return _compare_matrices(pred, gold)
        case Claim(), Claim():
            return claims.compare_claims(pred, gold)
        case (Claim() as claim, Value() as value) | (Value() as value, Claim() as claim):
            if value.name in names_in(claims.difference(claim)):
                named = Claim("=", Name(value.name), value.formula)
                return claims.compare_claims(named, claim)
            return claims.compare_with_value(claim, value)
    if (
        isinstance(pred, Region)
        or isinstance(gold, Region)
        or _lists_sets(pred) != _lists_sets(gold)
    ):
        return _compare_regions(pred, gold)
    if isinstance(pred, Matrix) or isinstance(gold, Matrix):
        return groups.compare_vector(pred, gold, compare)
    if isinstance(pred, Group) and isinstance(gold, Group):
        return groups.compare_groups(pred, gold, compare)
    group = pred if isinstance(pred, Group) else gold
    return groups.compare_with_one(group if isinstance(group, Group) else None, pred, gold)


def _unwrapped(answer: Answer) -> Answer:
    """Take the set of one item for that item; braces around a letter may mean something else."""
    if isinstance(answer, Group) and answer.kind != "tuple" and len(answer.items) == 1:
        item = answer.items[0]
        empty = isinstance(item, Group) and not item.items
        if not empty and not (isinstance(item, Value) and names_in(item.formula)):
            return item
    return answer


def _lists_sets(answer: Answer) -> bool:
    """Is this a list such as `x < 1 or x > 2`?"""
    if not isinstance(answer, Group) or answer.kind != "list":
        return False
    return any(isinstance(item, Region) for item in answer.items)


def _compare_matrices(pred: Matrix, gold: Matrix) -> Verdict:
    shapes = [(len(matrix.rows), len(matrix.rows[0])) for matrix in (pred, gold)]
    if shapes[0] != shapes[1]:
        return incorrect("matrices of different shapes")
    cells = [tuple(Value(cell) for row in matrix.rows for cell in row) for matrix in (pred, gold)]
    first, second = (Group("tuple", items) for items in cells)
    return groups.compare_groups(first, second, compare)


def _compare_regions(pred: Answer, gold: Answer) -> Verdict:
    names = {side.name for side in (pred, gold) if isinstance(side, Region) and side.name}
    if isinstance(pred, Claim) or isinstance(gold, Claim):
        return claims.compare_with_region(pred, gold)
    if isinstance(pred, Value) or isinstance(gold, Value):
        return incorrect("a set of numbers against one value")
    try:
        first, second = as_region(pred), as_region(gold)
    except Unreadable:
        return _against_list(pred, gold)
    if len(names) > 1:
        return unsure(f"the same letter may not be meant: {' and '.join(sorted(names))}")
    same = lines.same_region(first, second)
    if same is None:
        return unsure("the ends of the intervals can't be compared")
    return correct("the same set of numbers") if same else incorrect("different sets of numbers")


def _against_list(pred: Answer, gold: Answer) -> Verdict:
    group = pred if isinstance(pred, Group) else gold
    region = gold if group is pred else pred
    if isinstance(region, Region) and isinstance(group, Group) and group.brackets == "[]":
        return unsure("square brackets may be a list or an interval")
    if isinstance(group, Group) and any(isinstance(item, Region | Words) for item in group.items):
        return unsure("a list of sets against a set")
    return incorrect("a set of numbers against a list")
