"""Compare lists, sets and tuples: multisets item by item, tuples in order."""

from collections.abc import Callable, Sequence

from tmas_graph.answers.answer import Answer, Group, Matrix, Region, Value, Words
from tmas_graph.answers.verdict import Verdict, correct, incorrect, unsure

Compare = Callable[[Answer, Answer], Verdict]
_DOTS = r"\ldots"


def compare_groups(pred: Group, gold: Group, compare: Compare) -> Verdict:
    """Compare two groups; a list against a tuple must have the same order to be accepted."""
    names = [_distinct_names(group.items) for group in (pred, gold)]
    if pred.kind == gold.kind == "tuple" and not all(names):
        return _in_order(pred.items, gold.items, compare)
    if "tuple" in (pred.kind, gold.kind) and not all(names):
        return _list_with_tuple(pred, gold, compare)
    if any(names):
        return _by_name(pred, gold, names, compare)
    if "set" in (pred.kind, gold.kind) or _all_tuples(pred) or _all_tuples(gold):
        pred, gold = (_without_repeats(group, compare) for group in (pred, gold))
    return _matched(pred.items, gold.items, compare)


def compare_with_one(group: Group | None, pred: Answer, gold: Answer) -> Verdict:
    """Compare a group with something single."""
    if group is None or any(isinstance(item, Words) for item in group.items):
        return unsure("two answers of different kinds")
    if len(group.items) == 1:
        return unsure("a set of one formula against a formula")
    return incorrect(f"{len(group.items)} values against one")


def compare_vector(pred: Answer, gold: Answer, compare: Compare) -> Verdict:
    """Compare a matrix of one column or row with a tuple."""
    matrix, other = (pred, gold) if isinstance(pred, Matrix) else (gold, pred)
    assert isinstance(matrix, Matrix)
    if (
        isinstance(other, Group)
        and other.kind == "tuple"
        and 1
        in (
            len(matrix.rows),
            len(matrix.rows[0]),
        )
    ):
        from_matrix = Group("tuple", tuple(Value(cell) for row in matrix.rows for cell in row))
        return compare(from_matrix, other)
    return incorrect("a matrix against something else")


def _in_order(pred: Sequence[Answer], gold: Sequence[Answer], compare: Compare) -> Verdict:
    if len(pred) != len(gold):
        return incorrect(f"{len(pred)} values against {len(gold)}")
    open_question = None
    for place, (one, two) in enumerate(zip(pred, gold, strict=True), start=1):
        verdict = compare(one, two)
        if verdict.outcome == "incorrect":
            return incorrect(f"value {place}: {verdict.cause}")
        if verdict.outcome != "correct":
            open_question = unsure(f"value {place}: {verdict.cause}")
    return open_question or correct(f"all {len(pred)} values are equal, in order")


def _list_with_tuple(pred: Group, gold: Group, compare: Compare) -> Verdict:
    lists = [group for group in (pred, gold) if group.kind != "tuple"]
    if lists[0].kind == "set":
        return incorrect("a set against a tuple")
    verdict = _in_order(pred.items, gold.items, compare)
    if verdict.outcome != "incorrect" or len(pred.items) != len(gold.items):
        return verdict
    unordered = _matched(pred.items, gold.items, compare)
    return unsure("the same values in another order") if unordered.outcome == "correct" else verdict


def _matched(pred: Sequence[Answer], gold: Sequence[Answer], compare: Compare) -> Verdict:
    """Pair off two multisets."""
    left, open_question = list(gold), False
    missing = 0
    for one in pred:
        verdicts = [compare(one, other) for other in left]
        outcomes = [verdict.outcome for verdict in verdicts]
        if "correct" in outcomes:
            left.pop(outcomes.index("correct"))
        else:
            missing += 1
            open_question = open_question or set(outcomes) - {"incorrect"} != set()
    if not missing and not left:
        return correct(f"the same {len(pred)} values, in any order")
    if _has_dots(pred) or _has_dots(gold):
        return _with_dots(pred, gold, compare)
    if len(pred) != len(gold):
        return incorrect(f"{len(pred)} values against {len(gold)}")
    if open_question:
        return unsure("some of the values can't be compared")
    return incorrect(f"{missing} of {len(pred)} values are not in the other list")


def _all_tuples(group: Group) -> bool:
    """Are these solutions of several unknowns? One that is given twice is the same solution."""
    return all(isinstance(item, Group) and item.kind == "tuple" for item in group.items)


def _has_dots(items: Sequence[Answer]) -> bool:
    return any(isinstance(item, Words) and _DOTS in item.text for item in items)


def _with_dots(pred: Sequence[Answer], gold: Sequence[Answer], compare: Compare) -> Verdict:
    """Refuse sequences whose written beginnings differ; leave the others open."""
    for one, two in zip(pred, gold, strict=False):
        if isinstance(one, Words) or isinstance(two, Words):
            break
        if compare(one, two).outcome == "incorrect":
            return incorrect("sequences that begin differently")
    return unsure("a sequence with dots")


def _without_repeats(group: Group, compare: Compare) -> Group:
    if group.kind != "set" and not _all_tuples(group):
        return group
    kept = list[Answer]()
    for item in group.items:
        if all(compare(item, other).outcome != "correct" for other in kept):
            kept.append(item)
    return Group("set", tuple(kept))


def _distinct_names(items: Sequence[Answer]) -> dict[str, Answer]:
    """Give the items by name, if each has one of its own."""
    found = {item.name: item for item in items if isinstance(item, Value | Region) and item.name}
    return dict(found) if len(found) == len(items) and len(items) > 1 else {}


def _by_name(pred: Group, gold: Group, names: list[dict[str, Answer]], compare: Compare) -> Verdict:
    """Compare `x = 1, y = 2` with the same by name, with a plain list in order."""
    first, second = names
    if first and second:
        if first.keys() != second.keys():
            return unsure("the values have different names")
        return _in_order(
            [first[key] for key in sorted(first)], [second[key] for key in sorted(first)], compare
        )
    verdict = _in_order(pred.items, gold.items, compare)
    if verdict.outcome != "incorrect" or len(pred.items) != len(gold.items):
        return verdict
    unordered = _matched(pred.items, gold.items, compare)
    return unsure("the same values in another order") if unordered.outcome == "correct" else verdict
