"""The experience bank that settings ask for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from tmas_graph.memory import chroma_process
from tmas_graph.memory.chroma import Where
from tmas_graph.memory.embeddings import Embedder
from tmas_graph.memory.experience_bank import HASHING, ExperienceBank, open_bank, open_reader
from tmas_graph.memory.writer_lock import is_taken, second_writer
from tmas_graph.memory_settings import Embeddings, Memories


def bank_of(settings: Memories) -> ExperienceBank:
    """The bank that `settings` ask for; equal ones share its store and its embedder."""
    return open_bank(where(settings), embedder_of(settings.embeddings))


def reader_of(settings: Memories) -> ExperienceBank:
    """A bank to read the texts of what `settings` name; it makes, mends and locks nothing."""
    return open_reader(where(settings))


def begin(settings: Memories) -> None:
    """Let the bank's store load while something else is waited for."""
    if settings.experience:
        chroma_process.begin()


async def check(settings: Memories) -> None:
    """Make sure that the bank's embedder and store answer, before anything is paid for.

    Raises:
        CallError: the embedding server gives no vectors.
        StorageError: a folder or the Chroma server can't be used, or holds other vectors.
        MissingExtra: the embedder needs a package that isn't installed.
    """
    if settings.experience:
        await bank_of(settings).open()


def refuse_taken(settings: Memories) -> None:
    """Refuse a run that would be the second writer to a folder, before anything is made for it.

    Raises:
        StorageError: another process writes there.
    """
    path = where(settings).path
    if settings.experience and path and is_taken(path):
        raise second_writer(path)


@asynccontextmanager
async def held(settings: Memories, problem: str) -> AsyncIterator[None]:
    """Keep the bank's store while the problem with this id is worked on.

    Then it is closed, if nobody else in this process uses it.

    Raises:
        CallError, StorageError, MissingExtra: as `check`, or another process writes to it.
    """
    if not settings.experience:
        yield
        return
    async with bank_of(settings).held(problem):
        yield


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
    return HASHING
