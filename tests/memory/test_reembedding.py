"""Vectors of two embedders never mix; all rows can be given those of another."""

import asyncio
import multiprocessing
import random
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from embedding_server import serving

from tmas_graph.errors import StorageError
from tmas_graph.memory.chroma import Store, Where
from tmas_graph.memory.chroma_client import NEXT, Client
from tmas_graph.memory.experience_bank import COLLECTION, ExperienceBank
from tmas_graph.memory.items import Item
from tmas_graph.memory.library import Library, Published
from tmas_graph.memory.served_embeddings import ServedEmbeddings

pytestmark = pytest.mark.anyio
ITEMS = [Item("technique", f"use the {i}-th power", "\\(n > 1\\)") for i in range(700)]
IDS = [item.id for item in ITEMS]


class Lengths:
    """An embedder that knows how long a text is."""

    knows_meaning = False

    def __init__(self, name: str, dimension: int = 2) -> None:
        self.name, self.dimension = name, dimension

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[float(len(text)), *([1.0] * (self.dimension - 1))] for text in texts]


def bank_at(folder: Path, embedder: Lengths) -> ExperienceBank:
    """One that a kill of its process strikes in Chroma itself."""
    return ExperienceBank(Store(Where(str(folder)), connect=Client), embedder)


async def filled(folder: Path, embedder: Lengths, items: Sequence[Item] = ITEMS) -> None:
    bank = bank_at(folder, embedder)
    await bank.write(items, problem="p", iteration=0)
    await bank.store.close()


@pytest.mark.parametrize("deed", ["open", "write", "missing", "vectors"])
async def test_another_embedder_is_refused_and_no_row_is_touched(tmp_path: Path, deed: str) -> None:
    await filled(tmp_path / "m", Lengths("one"), ITEMS[:2])
    bank = bank_at(tmp_path / "m", Lengths("other"))
    deeds = {
        "open": lambda: bank.open(),
        "write": lambda: bank.write(ITEMS[2:3], problem="p", iteration=0),
        "missing": lambda: bank.missing(IDS[:2]),
        "vectors": lambda: bank.vectors(ITEMS[:2]),
    }
    with pytest.raises(StorageError) as raised:
        await deeds[deed]()
    assert str(raised.value) == (
        f"memory: {tmp_path / 'm'} holds vectors of one, but the settings ask for other. "
        "Run `tmas memory reembed`, or set embeddings back."
    )
    assert await bank.store.ids(COLLECTION) == IDS[:2]
    assert await bank.read(IDS[:2]) == ITEMS[:2]
    await bank.store.close()


async def test_another_width_under_the_same_name_is_refused(tmp_path: Path) -> None:
    await filled(tmp_path / "m", Lengths("one"), ITEMS[:2])
    bank = bank_at(tmp_path / "m", Lengths("one", 3))
    with pytest.raises(StorageError, match=r"one \(2 wide\), but .* one \(3 wide"):
        await bank.open()
    await bank.store.close()


async def test_all_rows_get_new_vectors_and_stay_what_they_were(tmp_path: Path) -> None:
    await filled(tmp_path / "m", Lengths("one"))
    bank = bank_at(tmp_path / "m", Lengths("other", 3))
    told: list[tuple[int, int]] = []
    assert await bank.reembed(lambda *done: told.append(done)) == len(ITEMS)
    assert told[-1] == (len(ITEMS), len(ITEMS))
    assert told == sorted(set(told))
    assert await bank.read(IDS) == ITEMS
    assert {
        len(row.vector) for row in (await bank.store.read(COLLECTION, IDS, vectors=True)).values()
    } == {3}
    assert await bank.reembed() == 0
    assert await bank.store.ids(COLLECTION + NEXT) == []
    await bank.store.close()


async def test_an_empty_store_takes_any_embedder(tmp_path: Path) -> None:
    bank = bank_at(tmp_path / "m", Lengths("one"))
    assert await bank.reembed() == 0
    await bank.open()
    await bank.store.close()


def reembed(folder: str, begun: Event) -> None:
    async def work() -> None:
        bank = bank_at(Path(folder), Lengths("other", 3))
        await bank.store.claim()
        begun.set()
        await bank.reembed()

    asyncio.run(work())


@pytest.mark.timeout(200)
async def test_killed_at_any_moment_no_row_is_lost(tmp_path: Path) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tmas_graph.threads", "chromadb"])
    rng, ended = random.Random(5), set[int]()
    await filled(tmp_path / "m", Lengths("one"))
    for longest in (0.05, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2):
        begun = context.Event()
        process = context.Process(target=reembed, args=(str(tmp_path / "m"), begun))
        process.start()
        assert await asyncio.to_thread(begun.wait, 60)
        await asyncio.to_thread(process.join, rng.uniform(0, longest))
        process.kill()
        process.join()
        ended.add(process.exitcode or 0)
        reader = Store(Where(str(tmp_path / "m")), writable=False)
        assert set(await reader.read(COLLECTION, IDS)) == set(IDS)
        await reader.close()
    assert -9 in ended
    bank = bank_at(tmp_path / "m", Lengths("other", 3))
    await bank.reembed()
    assert await bank.read(IDS) == ITEMS
    await bank.open()
    await bank.store.close()


async def test_dying_between_the_last_steps_leaves_a_whole_collection(tmp_path: Path) -> None:
    await filled(tmp_path / "m", Lengths("one"))
    bank = bank_at(tmp_path / "m", Lengths("other", 3))
    client = bank.store._made()
    client.drop, drop = (lambda name: (drop(name), 1 / 0)), client.drop  # type: ignore[method-assign]
    with pytest.raises(StorageError):
        await bank.reembed()
    await bank.store.close()
    again = bank_at(tmp_path / "m", Lengths("other", 3))
    await again.open()
    assert await again.read(IDS) == ITEMS
    await again.store.close()


async def test_a_server_that_fails_in_the_midst_is_asked_for_the_rest(tmp_path: Path) -> None:
    await filled(tmp_path / "m", Lengths("one"))
    async with serving() as server:
        served = ServedEmbeddings(server.base_url, "m", batch=256)
        bank = ExperienceBank(Store(Where(str(tmp_path / "m"))), served)
        await served.embed([""])
        server.answers = [(200, {"data": []})]
        with pytest.raises(ConnectionError, match="0 vectors for 256 texts"):
            await bank.reembed()
        assert await bank.reembed() == len(ITEMS)
    assert {len(body["input"]) for body in server.bodies} == {1, 256, len(ITEMS) % 256}
    await bank.store.close()


class Failing(Lengths):
    """An embedder that gives up after so many texts."""

    left = 300

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self.left < len(texts):
            raise ConnectionError("it is gone")
        self.left -= len(texts)
        return await super().embed(texts)


async def test_what_changed_since_it_was_broken_off_stays_changed(tmp_path: Path) -> None:
    store = Store(Where(str(tmp_path / "m")))
    before, first = Library(store, Lengths("one")), [Published(item) for item in ITEMS]
    await before.write(first)
    with pytest.raises(ConnectionError):
        await Library(store, Failing("other", 3)).reembed()
    assert await store.ids("tmas-library" + NEXT)
    gone, refuted, new = first[:9], replace(first[9], status="refuted"), Published(ITEMS[0], "p")
    await before.remove([one.id for one in gone])
    await before.write([refuted, new])
    after = Library(store, Lengths("other", 3))
    assert await after.reembed() == len(ITEMS) - 9 + 1
    assert set(await after.find()) == {refuted, new, *first[10:]}
    assert await after.lost([one.id for one in gone]) == set()  # it knows that they were deleted
    assert await store.ids("tmas-library" + NEXT) == []
    await store.close()


async def test_what_was_begun_is_dropped_when_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    await filled(tmp_path / "m", Lengths("one"))
    bank = bank_at(tmp_path / "m", Failing("other", 3))
    with pytest.raises(ConnectionError):
        await bank.reembed()
    assert await ExperienceBank(bank.store, Lengths("one")).reembed() == 0
    assert await bank.store.ids(COLLECTION + NEXT) == []
    await bank.store.close()


async def test_what_another_writes_meanwhile_is_taken_along(tmp_path: Path) -> None:
    store = Store(Where(str(tmp_path / "m")))
    before = Library(store, Lengths("one"))
    await before.write([Published(item) for item in ITEMS[:3]])

    class Slow(Lengths):
        async def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if len(texts) == 3:
                await before.write([Published(ITEMS[3])])
                await before.remove([Published(ITEMS[0]).id])
            return await super().embed(texts)

    after = Library(store, Slow("other", 3))
    assert await after.reembed() == 3
    assert {one.item for one in await after.find()} == set(ITEMS[1:4])
    await store.close()
