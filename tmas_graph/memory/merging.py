"""Which items a bank has to take in, and which say only what it holds already."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from tmas_graph.memory.dedup import DEFAULT, Known, Same, Thresholds, decide, says_more
from tmas_graph.memory.embeddings import embed
from tmas_graph.memory.items import Item
from tmas_graph.memory.similarity import same_statement


def new_items(
    items: Iterable[Item],
    known: Iterable[Item],
    *,
    vectors: Mapping[str, Sequence[float]] | None = None,
    thresholds: Thresholds = DEFAULT,
) -> list[Item]:
    """Those of `items` that neither `known` nor another one says already.

    One that says all of another and more takes its place among `items`; beside `known`, which is
    left as it is, it counts as new.

    Args:
        items: in the order in which they shall be kept.
        known: what is in the bank.
        vectors: unit vectors of all texts, by text; none: hashed ones.
        thresholds: how alike two near-duplicates must be, which depends on the embedder.
    """
    items, old = list(items), list(known)
    read = _reader([*old, *items], vectors)
    seen = [(item, read(item)) for item in old]
    fresh: list[tuple[Item, Known]] = []
    for item in items:
        new = read(item)
        rivals = [what for other, what in (*seen, *fresh) if _comparable(item, other)]
        if any(_said(new, what, thresholds) for what in rivals):
            continue
        fresh = [(o, w) for o, w in fresh if not (_comparable(item, o) and says_more(new, w))]
        fresh.append((item, new))
    return [item for item, _ in fresh]


def _reader(
    items: Sequence[Item], vectors: Mapping[str, Sequence[float]] | None
) -> Callable[[Item], Known]:
    if vectors is None:
        texts = list(dict.fromkeys(item.text for item in items))
        vectors = dict(zip(texts, embed(texts), strict=True))
    given = vectors
    of_text = {item.text: Known.of(item.text, given[item.text]) for item in items}
    return lambda item: of_text[item.text]


def _said(new: Known, old: Known, thresholds: Thresholds) -> bool:
    """Whether the old one says all that the new one does."""
    return isinstance(decide(new, old, thresholds), Same) and not says_more(new, old)


def _comparable(one: Item, other: Item) -> bool:
    """Whether two items may say the same: of one kind, and under the same conditions."""
    return one.kind == other.kind and same_statement(one.conditions, other.conditions)
