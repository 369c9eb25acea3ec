"""When two short texts say the same, without any embedding: by shared words, and by the guards."""

import re

from tmas_graph.memory.dedup import DEFAULT, shared
from tmas_graph.memory.guards import disagreement, statement

_TOKEN = re.compile(r"\\[a-zA-Z]+|[^\W\d_]+|\d+(?:\.\d+)?|[-+=<>≤≥≠^_*/!∈∉⊂⊆|]")


def tokens_of(text: str) -> list[str]:
    """Words, numbers, LaTeX commands and operators of `text`; single letters keep their case."""
    plain = text.replace("n't", " not").replace("−", "-")
    return [t if len(t) == 1 else t.lower() for t in _TOKEN.findall(plain)]


def jaccard(one: str, other: str) -> float:
    """Shared tokens over all tokens, in [0, 1]; two texts without tokens are alike."""
    first, second = set(tokens_of(one)), set(tokens_of(other))
    union = first | second
    return len(first & second) / len(union) if union else 1.0


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
