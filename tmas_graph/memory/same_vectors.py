"""Which vectors a collection holds, as its metadata say: those of one embedder alone."""

from tmas_graph.errors import StorageError
from tmas_graph.memory.embeddings import DIMENSION, Embedder
from tmas_graph.memory.rows import Data, Where

_NAME, _WIDTH = "embedder", "dimension"
_UNSAID: Data = {_NAME: f"hashing-{DIMENSION}", _WIDTH: DIMENSION}
"""What a collection holds whose metadata say nothing."""


def about(embedder: Embedder) -> Data:
    """The metadata of a collection of this embedder's vectors; it has made one already."""
    return {_NAME: embedder.name, _WIDTH: embedder.dimension}


def is_same(found: Data, wanted: Data) -> bool:
    """Whether a collection with the metadata `found` holds the vectors that are `wanted`."""
    return all({**_UNSAID, **found}[name] == wanted[name] for name in (_NAME, _WIDTH))


def refuse_other(where: Where, found: Data, wanted: Data) -> None:
    """Refuse to mix the vectors of two embedders; they can't be compared.

    Raises:
        StorageError: a collection with the metadata `found` holds others than `wanted`.
    """
    if not wanted or is_same(found, wanted):
        return
    held, asked = ({**_UNSAID, **data} for data in (found, wanted))
    width = (f" ({held[_WIDTH]} wide)", f" ({asked[_WIDTH]} wide)")
    ours, theirs = width if held[_NAME] == asked[_NAME] else ("", "")
    raise StorageError(
        f"memory: {where} holds vectors of {held[_NAME]}{ours}, but the settings ask for "
        f"{asked[_NAME]}{theirs}. Run `tmas memory reembed`, or set embeddings back."
    )
