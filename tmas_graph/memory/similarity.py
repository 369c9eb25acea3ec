"""When two short texts say the same, without any embedding: by the guards and shared words."""

from tmas_graph.memory.dedup import DEFAULT, shared
from tmas_graph.memory.guards import disagreement, statement


def same_statement(one: str, other: str) -> bool:
    """Whether two statements differ in wording only; one that says more is another one.

    However alike they look, they don't merge unless numbers, variables, negations, quantifiers,
    conditions, and operators with what stands beside them agree: "x = 3" is not "x = 4", "a < b"
    not "b < a", "is" not "is not", "n even" not "n odd".
    """
    first, second = statement(one), statement(other)
    if first.normal == second.normal:
        return True
    return disagreement(first, second) is None and shared(first, second) >= DEFAULT.overlap
