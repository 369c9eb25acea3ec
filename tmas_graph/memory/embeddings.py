"""Vectors for similarity search, without any download: hashed character n-grams."""

from collections.abc import Sequence
from functools import cache
from typing import Any

DIMENSION = 1024


def embed(texts: Sequence[str]) -> list[list[float]]:
    """Unit vectors of `texts`, one row each, `DIMENSION` wide; equal texts get equal vectors."""
    if not texts:
        return []
    rows: list[list[float]] = _vectorizer().transform(texts).toarray().tolist()
    return rows


@cache
def _vectorizer() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415  (slow to load)

    return HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=DIMENSION, lowercase=False
    )
