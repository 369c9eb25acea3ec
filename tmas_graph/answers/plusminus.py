"""The values that a formula with plus-minus stands for."""

from tmas_graph.answers.syntax import Apply, Formula, Unreadable


def variants(formula: Formula) -> tuple[Formula, ...]:
    """Give the formula itself, or its two values where it holds one plus-minus.

    Raises:
        Unreadable: it holds several, and only the writer knows whether they go together.
    """
    upper, lower = _count(formula, "pm"), _count(formula, "mp")
    if upper + lower == 0:
        return (formula,)
    if upper + lower > 1 and not upper == lower == 1:
        raise Unreadable("several plus-minus signs")
    return _chosen(formula, {"pm": "+", "mp": "-"}), _chosen(formula, {"pm": "-", "mp": "+"})


def _count(formula: Formula, head: str) -> int:
    if not isinstance(formula, Apply):
        return 0
    return (formula.head == head) + sum(_count(inner, head) for inner in formula.arguments)


def _chosen(formula: Formula, signs: dict[str, str]) -> Formula:
    if not isinstance(formula, Apply):
        return formula
    inner = tuple(_chosen(argument, signs) for argument in formula.arguments)
    return Apply(signs.get(formula.head, formula.head), inner)
