"""Whether two pieces of memory say the same: in up to four stages, each of which can say why.

Exact: the same but for notation, articles and spacing. Containment: one asserts all of the other
and more. Near-duplicate: alike by embedding and by shared words, and no guard objects. Where the
embedder knows meaning, too: alike by embedding, and agreed in what none can be trusted with. Pure
functions on texts and their vectors; nothing here asks an embedder.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from tmas_graph.memory.guards import Reason, Statement, disagreement, fuller, statement
from tmas_graph.memory.meaning import agree

Stage = Literal["exact", "containment", "near", "meaning"]


@dataclass(frozen=True, slots=True)
class Same:
    """The two say the same."""

    stage: Stage
    """What told."""
    score: float
    """Cosine similarity of the two for `near` and `meaning`, else 1."""


@dataclass(frozen=True, slots=True)
class Different:
    """The two must both be kept."""

    reason: Reason
    """What they differ in; `likeness` and `overlap`: no guard objects, but too little is shared."""


Decision = Same | Different


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How alike near-duplicates must be; the guards hold whatever these are."""

    cosine: float = 0.3
    """Least cosine similarity of the embeddings."""
    overlap: float = 0.4
    """Least share of words in common."""
    meaning: float | None = None
    """Least cosine similarity at which words that say little may differ; None: never."""


DEFAULT = Thresholds()
BY_MEANING = Thresholds(meaning=0.6)
"""For embedders that know meaning."""


@dataclass(frozen=True, slots=True)
class Known:
    """A text with what is computed of it once."""

    statement: Statement
    vector: NDArray[np.float32]

    @classmethod
    def of(cls, text: str, vector: Sequence[float]) -> Self:
        """Read `text`, whose unit vector is `vector`."""
        return cls(statement(text), np.asarray(vector, np.float32))

    @property
    def text(self) -> str:
        """The text itself."""
        return self.statement.text


def decide(one: Known, other: Known, thresholds: Thresholds = DEFAULT) -> Decision:
    """Whether the two say the same, and what told; the order of the two doesn't matter."""
    if one.statement.normal == other.statement.normal:
        return Same("exact", 1.0)
    if fuller(one.statement, other.statement):
        return Same("containment", 1.0)
    cosine = float(one.vector @ other.vector)
    reason = _apart(one.statement, other.statement, cosine, thresholds)
    if not reason:
        return Same("near", cosine)
    near = thresholds.meaning is not None and cosine >= thresholds.meaning
    return Same("meaning", cosine) if near and agree(one.text, other.text) else Different(reason)


def _apart(
    one: Statement, other: Statement, cosine: float, thresholds: Thresholds
) -> Reason | None:
    """Why two are no near-duplicates by the guards, if they aren't."""
    if reason := disagreement(one, other):
        return reason
    if shared(one, other) < thresholds.overlap:
        return "overlap"
    return None if cosine >= thresholds.cosine else "likeness"


def says_more(one: Known, other: Known) -> bool:
    """Whether `one` asserts all that `other` does, and more: it is the one to keep."""
    return fuller(one.statement, other.statement) > 0


def shared(one: Statement, other: Statement) -> float:
    """Words in common over all words, in [0, 1]."""
    union = one.words | other.words
    return len(one.words & other.words) / len(union) if union else 1.0
