from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tmas_graph.errors import StorageError
from tmas_graph.memory import opening
from tmas_graph.memory.chroma import Store, Where, open_store
from tmas_graph.memory.chroma_client import Client
from tmas_graph.memory.embeddings import Hashing
from tmas_graph.memory.experience_bank import COLLECTION, ExperienceBank, open_bank
from tmas_graph.memory.items import Item
from tmas_graph.settings import Settings

pytestmark = pytest.mark.anyio
TEXT = "use $\\frac{a}{b}$, \\text{x} \\beta\t\x0c\u2028{{ x }} \x00 'q' \"q\"; --"
LATEX = Item("technique", TEXT)
ITEMS = [
    Item("conclusion", "the sum of the first n odd numbers is n^2"),
    Item("pitfall", "dividing by x forgets the case x = 0"),
    Item("technique", "complete the square in y", "\\(n \\ge 2\\) is even"),
    LATEX,
]
IDS = [item.id for item in ITEMS]


@pytest.fixture
async def bank(tmp_path: Path) -> AsyncIterator[ExperienceBank]:
    bank = open_bank(Where(str(tmp_path / "memory")))
    yield bank
    await bank.store.close()


async def test_items_come_back_byte_for_byte_in_the_order_asked_for(bank: ExperienceBank) -> None:
    await bank.write(ITEMS, problem="p", iteration=0)
    assert await bank.read(IDS[::-1]) == ITEMS[::-1]


async def test_a_second_process_reads_what_the_first_wrote(bank: ExperienceBank) -> None:
    await bank.write(ITEMS, problem="p", iteration=0)
    other = ExperienceBank(Store(bank.store.where), bank.embedder)
    assert await other.read(IDS) == ITEMS
    await other.store.close()


async def test_a_repeated_write_changes_nothing(bank: ExperienceBank) -> None:
    await bank.write(ITEMS, problem="p", iteration=0)
    await bank.write([*ITEMS, ITEMS[0]], problem="p", iteration=0)
    assert await bank.read(IDS) == ITEMS
    assert len(await bank.store.read(COLLECTION, IDS)) == len(ITEMS)


async def test_what_is_at_hand_of_a_problem_goes_when_it_is_done(tmp_path: Path) -> None:
    given = Settings(memory_folder=str(tmp_path / "memory"))
    bank = opening.bank_of(given)
    async with opening.held(given, "other"):
        await bank.write(ITEMS[1:], problem="other", iteration=0)
        async with opening.held(given, "done"):
            await bank.write(ITEMS[:1], problem="done", iteration=0)
            assert list(bank.kept.give(IDS)) == IDS
        assert list(bank.kept.give(IDS)) == IDS[1:]
        assert await bank.read(IDS) == ITEMS
    assert bank.kept.give(IDS) == {}


async def test_only_the_ledger_says_what_is_seen(bank: ExperienceBank) -> None:
    await bank.write(ITEMS, problem="p", iteration=0)
    ledger = [ITEMS[1].id, ITEMS[2].id]
    assert [one.item.id for one in await bank.recall(ledger)] == ledger
    assert await bank.recall([]) == []


async def test_unknown_and_repeated_ids_do_no_harm(bank: ExperienceBank) -> None:
    assert await bank.read(["unknown"]) == []
    assert await bank.recall(["unknown"]) == []
    await bank.write(ITEMS[:1], problem="p", iteration=0)
    ids = ["unknown", IDS[0], IDS[0], "other"]
    assert await bank.read(ids) == ITEMS[:1]
    assert [one.item for one in await bank.recall(ids)] == ITEMS[:1]


async def test_nothing_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from chromadb.utils import embedding_functions  # noqa: PLC0415  (takes a second to load)

    def forbidden(*_: object) -> None:
        raise AssertionError("Chroma's own embedding function was asked")

    monkeypatch.setattr(embedding_functions.DefaultEmbeddingFunction, "__call__", forbidden)
    bank = ExperienceBank(Store(Where(str(tmp_path / "memory")), connect=Client), Hashing())
    await bank.write(ITEMS, problem="p", iteration=0)
    assert await bank.read(IDS) == ITEMS
    await bank.store.close()


@pytest.mark.parametrize("place", ["a file", "below a file", "/proc"])
async def test_a_folder_that_cant_be_used_is_said(tmp_path: Path, place: str) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    folder = {
        "a file": file,
        "below a file": file / "memory",
        "/proc": Path("/proc/memory"),
    }[place]
    bank = open_bank(Where(str(folder)))
    with pytest.raises(StorageError, match=r"memory: .* can't be used \(.+\)\. Set memory_folder"):
        await bank.write(ITEMS, problem="p", iteration=0)


def test_one_store_per_folder(tmp_path: Path) -> None:
    one = open_store(Where(str(tmp_path)))
    assert open_bank(Where(str(tmp_path))).store is one
    assert open_bank(Where(str(tmp_path / "other"))).store is not one


def test_the_kind_is_part_of_an_items_identity() -> None:
    assert Item("conclusion", "x").id != Item("pitfall", "x").id
    assert Item("conclusion", "x").id == "7bc4ccbf21e4b560"
