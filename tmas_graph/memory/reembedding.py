"""Give the rows of a collection vectors of another embedder, safe to break off at any moment.

The rows go into a second collection, which takes the place of the first once it holds all of
them. Until then the first stays as it was.
"""

from collections.abc import Callable
from dataclasses import replace

from tmas_graph.memory import same_vectors
from tmas_graph.memory.chroma import Store
from tmas_graph.memory.chroma_client import NEXT
from tmas_graph.memory.embeddings import Embedder

_BATCH = 256


async def reembed(
    store: Store,
    name: str,
    embedder: Embedder,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Let collection `name` hold vectors of `embedder`; how many rows it gave new ones.

    Raises:
        StorageError: the store can't be used, or another process writes to it.
        CallError: the embedding server gives no vectors.
    """
    await embedder.embed([""])  # whose width isn't known before
    wanted, following = same_vectors.about(embedder), name + NEXT
    await store.claim()
    found = await store.open(name)
    ids = await store.ids(name)
    if same_vectors.is_same(found, wanted) or not ids:
        await store.describe(name, {**found, **wanted})
        return 0
    if (begun := await store.open(following)) and not same_vectors.is_same(begun, wanted):
        await store.drop(following)
    done = set(await store.ids(following)) & set(ids)
    left = [id for id in ids if id not in done]
    for start in range(0, len(left), _BATCH):
        rows = list((await store.read(name, left[start : start + _BATCH])).values())
        vectors = await embedder.embed([row.text for row in rows])
        fresh = [replace(row, vector=v) for row, v in zip(rows, vectors, strict=True)]
        await store.write(following, fresh, wanted)
        if progress is not None:
            progress(len(done) + start + len(rows), len(ids))
    await store.succeed(name)
    return len(ids)
