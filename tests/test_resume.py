"""Killed with -9 again and again, a run ends as if nothing had happened."""

import asyncio
import multiprocessing
import random
import sqlite3
from contextlib import closing
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server
from noting import asked, came_in_time, lines_of, note_calls
from savers import SAVERS

from tmas_graph import Problem, Result, Settings, asolve, build_graph
from tmas_graph import graph as cycle
from tmas_graph.models import pool
from tmas_graph.records import Record
from tmas_graph.running import follow
from tmas_graph.threads import open_threads

KILLS = 20
SLOW_TO_LOAD = ("chromadb", "sklearn.feature_extraction.text")
PROBLEM = Problem("What is 6 times 7?")


def latency(request: Request) -> float:
    """20 to 120 ms, the same for the same request."""
    return 0.02 + 0.1 * int(request.digest[:4], 16) / 0xFFFF


def work(home: str, name: str, begun: Event) -> None:
    """Run a thread in a process of its own, noting its calls."""

    async def run() -> None:
        note_calls(Path(home) / "calls.log")
        async with open_threads(home) as store:
            await store.run(await store.get(name), on_event=lambda _: begun.set())

    asyncio.run(run())


@pytest.fixture(scope="module")
def processes() -> Any:
    """Starts processes quickly: they are forked from one that has loaded everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tmas_graph.threads", *SLOW_TO_LOAD])
    return context


def create(home: Path, given: Settings) -> Record:
    async def enter() -> Record:
        async with open_threads(home) as store:
            return await store.create(PROBLEM, given, {})

    return asyncio.run(enter())


def values(home: Path, name: str) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        async with open_threads(home) as store:
            return await store.values(name)

    return asyncio.run(read())


@pytest.mark.early
@pytest.mark.timeout(600)
def test_killed_20_times_it_repeats_no_finished_call_and_ends_the_same(tmp_path, processes):
    rng = random.Random(2026)
    with server(script=Reasoner().short(), role_of=role_of, latency=latency) as at:
        given = Settings(
            base_url=at.base_url,
            candidates=4,
            verifications=3,
            iterations=12,
            epsilon=0.5,
            early_stop=False,
            multiple_replies=False,
        )
        broken, whole = tmp_path / "broken", tmp_path / "whole"
        name = create(broken, given).id
        kills, done, log = 0, set[str](), broken / "calls.log"
        while kills < KILLS:
            begun = processes.Event()
            process: BaseProcess = processes.Process(target=work, args=(str(broken), name, begun))
            before = len(lines_of(log))
            process.start()
            assert begun.wait(60)
            process.join(timeout=rng.uniform(0.0, 0.6))
            assert process.is_alive(), f"it finished after {kills} kills: give it more to do"
            process.kill()
            process.join()
            kills += 1
            noted = lines_of(log)[before:]
            again = asked(noted) & done
            assert not again, f"kill {kills}: {len(again)} finished calls were made again"
            done |= came_in_time(noted)
        process = processes.Process(target=work, args=(str(broken), name, begun))
        process.start()
        process.join(120)
        assert process.exitcode == 0
        in_flight = len(at.requests)
        unbroken = create(whole, given).id
        process = processes.Process(target=work, args=(str(whole), unbroken, begun))
        process.start()
        process.join(120)
        calls = len(at.requests) - in_flight
    assert values(broken, name) == values(whole, unbroken)
    assert calls == 12 * (4 * (1 + 3 + 1) + 2)
    assert in_flight < calls + KILLS * 4 * 3, "more was repeated than can have been in flight"


LAST = "SELECT MAX(checkpoint_id) FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"


@pytest.mark.parametrize("method", ["tmas", "self-consistency", "self-refine"])
def test_one_that_ended_before_its_last_checkpoint_was_written_gives_its_result(tmp_path, method):
    async def all_of_it(given: Settings) -> tuple[Result, Result, list[str]]:
        async with open_threads(tmp_path) as store:
            made = await store.create(PROBLEM, given, {}, method=method)
            first = await store.run(made)
            # What the last node gave is stored, as writes of the checkpoint before.
            with closing(sqlite3.connect(tmp_path / "tmas.sqlite")) as database, database:
                [last] = database.execute(LAST, (made.id,)).fetchone()
                database.execute("DELETE FROM checkpoints WHERE checkpoint_id = ?", (last,))
        events: list[str] = []
        async with open_threads(tmp_path) as store:
            again = await store.run(
                await store.get(made.id), on_event=lambda event: events.append(event["event"])
            )
        return first, again, events

    with server(script=Reasoner().short(), role_of=role_of) as at:
        given = Settings(base_url=at.base_url, candidates=2, verifications=1, iterations=2)
        first, again, events = asyncio.run(all_of_it(given))
    assert again == first
    assert len(at.requests) == first.usage.calls
    assert events.count("result") == 1


@pytest.mark.anyio
@pytest.mark.parametrize("branch", ["epsilon_branch", "what_next"])
@pytest.mark.parametrize("saver_of", SAVERS)
async def test_cancelled_between_a_nodes_update_and_its_branch_a_run_goes_on(
    tmp_path, monkeypatch, branch, saver_of
):
    begun, whole = asyncio.Event(), getattr(cycle, branch)

    async def held(state: Any) -> Any:
        begun.set()
        await asyncio.Event().wait()  # until it is cancelled
        return await whole(state)

    config: Any = {"configurable": {"thread_id": "one"}}
    scripted = server(script=Reasoner().short(), role_of=role_of)
    async with scripted as at, saver_of(tmp_path) as saver:
        given = Settings(base_url=at.base_url, candidates=2, verifications=1, iterations=2)
        with monkeypatch.context() as patch:
            patch.setattr(cycle, branch, held)
            first = build_graph(saver)
        run = asyncio.create_task(follow(first, {"problem": PROBLEM}, config, given))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        found = await follow(build_graph(saver), None, config, given)
        made = len(at.requests)
        assert found == await asolve(PROBLEM, given)
        assert made == len(at.requests) - made
        await pool.close()
