"""Killed with -9 while Chroma writes, again and again, a run's memory ends as if never broken."""

import asyncio
import multiprocessing
import random
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server

from tmas_graph import Problem, Settings
from tmas_graph.memory import chroma_process
from tmas_graph.memory.chroma import Store
from tmas_graph.memory.chroma_client import Client
from tmas_graph.memory.experience_bank import COLLECTION
from tmas_graph.memory.items import Item
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.opening import reader_of
from tmas_graph.records import Record
from tmas_graph.threads import open_threads

ITERATIONS = 10
PROBLEM = Problem("What is 6 times 7?")


def work(home: str, name: str, pipe: Connection) -> None:
    """Run a thread in a process of its own, telling when Chroma begins to write, and of its end."""
    put = Client.put

    def told(self: Client, *given: Any) -> None:
        pipe.send("writes")
        put(self, *given)

    async def run() -> None:
        async with open_threads(home) as store:
            await store.run(await store.get(name))

    Client.put = told  # type: ignore[method-assign]
    chroma_process.connect = Client  # whom the kill is to strike
    asyncio.run(run())
    pipe.send("done")


async def created(home: Path, given: Settings) -> Record:
    async with open_threads(home) as store:
        return await store.create(PROBLEM, given, {})


async def outcome(home: Path, name: str) -> tuple[dict[str, Any], list[str], list[Item]]:
    """The state, and what the store holds: all ids, and the items of the ledger."""
    async with open_threads(home) as store:
        values, record = await store.values(name), await store.get(name)
    bank = reader_of(record.settings)
    ids = await Store(bank.store.where).ids(COLLECTION)
    items = await bank.read([entry.id for entry in ledger_of(values["experience"])])
    await bank.store.close()
    return values, sorted(ids), items


@pytest.mark.early
@pytest.mark.timeout(200)
def test_killed_in_the_midst_of_writes_no_item_is_lost_and_none_is_there_twice(
    tmp_path: Path,
) -> None:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tmas_graph.threads", "chromadb"])
    rng = random.Random(11)

    def started(home: Path, name: str) -> tuple[Any, Connection]:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(str(home), name, theirs))
        process.start()
        theirs.close()
        return process, ours

    with server(script=Reasoner().short(), role_of=role_of) as at:
        given = Settings(
            base_url=at.base_url,
            candidates=2,
            verifications=1,
            iterations=ITERATIONS,
            epsilon=0.3,
            early_stop=False,
        )
        broken, whole = tmp_path / "broken", tmp_path / "whole"
        name, unbroken = (asyncio.run(created(home, given)).id for home in (broken, whole))
        kills = 0
        while kills < ITERATIONS - 2:
            process, pipe = started(broken, name)
            if pipe.recv() == "done":  # a fast machine does more than one iteration between kills
                process.join()
                break
            process.join(rng.uniform(0, 0.06))
            process.kill()
            process.join()
            kills += 1
        assert kills >= 3
        for home, thread in ((broken, name), (whole, unbroken)):
            process, pipe = started(home, thread)
            said = pipe.recv()
            while said != "done":
                said = pipe.recv()
            process.join()
    values, ids, items = asyncio.run(outcome(broken, name))
    expected = asyncio.run(outcome(whole, unbroken))
    assert (values, ids, items) == expected
    assert len(items) == len(ids) == 3 * ITERATIONS
