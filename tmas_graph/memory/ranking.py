"""Exact search by cosine: what a ledger holds is few, and an index would miss some of it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tmas_graph.memory.rows import Row


def ranked(vector: Sequence[float], rows: Iterable[Row]) -> list[Row]:
    """`rows` with their distance from `vector`, the nearest first; equally near ones by id."""
    import numpy as np  # noqa: PLC0415  (takes a tenth of a second to load)

    ordered = sorted(rows, key=lambda row: row.id)
    if not ordered:
        return []
    # In double precision the order of the rows doesn't show in the sixth decimal.
    matrix = np.asarray([row.vector for row in ordered], dtype=np.float64)
    asked = np.asarray(vector, dtype=np.float64)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked)
    products = matrix @ asked
    likeness = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    away = (1.0 - likeness).round(6).tolist()
    found = [replace(row, distance=distance) for row, distance in zip(ordered, away, strict=True)]
    return sorted(found, key=lambda row: row.distance)
