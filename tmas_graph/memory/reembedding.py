"""Give the rows of a collection vectors of another embedder, safe to break off at any moment.

The rows go into a second collection, which takes the place of the first once it holds all of
them, as they are then. Until then the first is the one that is read, written and deleted from.
"""

from collections.abc import Callable
from dataclasses import replace

from tmas_graph.memory import same_vectors
from tmas_graph.memory.chroma import Row, Store
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
    if same_vectors.is_same(found, wanted) or not await store.ids(name):
        await store.drop(following)  # what was begun once and isn't wanted any more
        await store.describe(name, {**found, **wanted})
        return 0
    if (begun := await store.open(following)) and not same_vectors.is_same(begun, wanted):
        await store.drop(following)
    total = 0
    # Another process on a server may write meanwhile: until nothing is left.
    while left := await _left(store, name):
        total = len(await store.ids(name))
        done = total - len(left)
        for start in range(0, len(left), _BATCH):
            rows = list((await store.read(name, left[start : start + _BATCH])).values())
            vectors = await embedder.embed([row.text for row in rows])
            fresh = [replace(row, vector=v) for row, v in zip(rows, vectors, strict=True)]
            await store.write(following, fresh, wanted)
            if progress is not None:
                progress(done + start + len(rows), total)
    if not await store.ids(name):  # the last one was deleted meanwhile
        return await reembed(store, name, embedder, progress)
    await store.describe(following, {**await store.open(name), **wanted})
    await store.succeed(name)
    return total or len(await store.ids(name))


async def _left(store: Store, name: str) -> list[str]:
    """Ids of rows that the second collection hasn't as they are now; it loses what is gone.

    Since a sitting that was broken off, rows may have been changed or deleted.
    """
    ids, following = await store.ids(name), name + NEXT
    await store.remove(following, list(set(await store.ids(following)) - set(ids)))
    left: list[str] = []
    for start in range(0, len(ids), _BATCH):
        some = ids[start : start + _BATCH]
        now, done = await store.read(name, some), await store.read(following, some)
        left += [id for id in some if id in now and not _equal(now[id], done.get(id))]
    return left


def _equal(one: Row, other: Row | None) -> bool:
    return other is not None and (one.text, one.data) == (other.text, other.data)
