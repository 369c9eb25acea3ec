"""When two short texts say the same: token overlap, guarded by what must agree exactly."""

import re

_TOKEN = re.compile(r"\\[a-zA-Z]+|[^\W\d_]+|\d+(?:\.\d+)?|[-+=<>≤≥≠^_*/!∈∉⊂⊆|]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPERATOR = re.compile(
    r"[-+=<>≤≥≠^_*/!∈∉⊂⊆|]|"
    r"\\(?:le|ge|ne|leq|geq|neq|lt|gt|pm|mp|equiv|approx|in|notin|subset|subseteq|mid|nmid)\b"
)
_DECISIVE = {
    "not", "no", "never", "non", "cannot", "without", "neither", "nor", "false", "fails",
    "even", "odd", "all", "every", "some", "any", "each", "none", "exists", "only", "unless",
    "always", "most", "least", "max", "min", "maximum", "minimum", "positive", "negative",
    "prime", "composite", "finite", "infinite", "increasing", "decreasing", "convex", "concave",
    "left", "right", "upper", "lower", "before", "after", "first", "last", "sum", "product",
}  # fmt: skip


def tokens_of(text: str) -> list[str]:
    """Words, numbers, LaTeX commands and operators of `text`; single letters keep their case."""
    plain = text.replace("n't", " not").replace("−", "-")
    return [t if len(t) == 1 else t.lower() for t in _TOKEN.findall(plain)]


def jaccard(one: str, other: str) -> float:
    """Shared tokens over all tokens, in [0, 1]; two texts without tokens are alike."""
    first, second = set(tokens_of(one)), set(tokens_of(other))
    union = first | second
    return len(first & second) / len(union) if union else 1.0


def same_statement(one: str, other: str, *, threshold: float = 0.75) -> bool:
    """Whether two statements differ in wording only.

    However alike they look, they don't merge unless numbers, variables, negations, quantifiers,
    and operators with what stands beside them agree: "x = 3" is not "x = 4", "a < b" not "b < a",
    "is" not "is not", "n even" not "n odd".
    """
    if _plain(one) == _plain(other):
        return True
    return _decisive(one) == _decisive(other) and jaccard(one, other) >= threshold


def _plain(text: str) -> str:
    return " ".join(text.replace("$", "").split()).rstrip(".")


def _decisive(text: str) -> list[str]:
    tokens = ["", *tokens_of(text), ""]
    single = [
        t for t in tokens if t in _DECISIVE or _NUMBER.fullmatch(t) or (len(t) == 1 and t.isalpha())
    ]
    operations = [
        " ".join(tokens[i - 1 : i + 2]) for i, t in enumerate(tokens) if _OPERATOR.fullmatch(t)
    ]
    return sorted(single + operations)
