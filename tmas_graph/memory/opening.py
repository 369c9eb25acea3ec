"""The experience bank that settings ask for."""

from functools import cache

from tmas_graph.memory.chroma import Where
from tmas_graph.memory.embeddings import Embedder, Hashing
from tmas_graph.memory.experience_bank import ExperienceBank, open_bank
from tmas_graph.memory_settings import Embeddings, Memories


def bank_of(settings: Memories) -> ExperienceBank:
    """The bank that `settings` ask for; equal ones share its store and its embedder."""
    return open_bank(where(settings), embedder_of(settings.embeddings))


def where(settings: Memories) -> Where:
    """Where the bank of `settings` is."""
    return Where(settings.memory_folder, settings.memory_server)


@cache
def embedder_of(settings: Embeddings) -> Embedder:
    """The embedder that `settings` ask for."""
    if settings.base_url and settings.model:
        from tmas_graph.memory.served_embeddings import ServedEmbeddings  # noqa: PLC0415

        return ServedEmbeddings(settings.base_url, settings.model, key=settings.key())
    if settings.folder:
        from tmas_graph.memory.sentence_model import SentenceModel  # noqa: PLC0415

        return SentenceModel(settings.folder)
    return Hashing()
