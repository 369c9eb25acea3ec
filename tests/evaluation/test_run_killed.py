"""Killed with -9 again and again, a run of many problems ends as if nothing had happened."""

import asyncio
import multiprocessing
import random
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from endpoints.protocol import Request
from endpoints.reasoner import Reasoner, role_of
from endpoints.scripted import server
from noting import asked, came_in_time, lines_of, note_calls
from runs_on_script import METHODS, begun, gone_on, problems_file, rows, settings

from tmas_graph.evaluation.books import Watch
from tmas_graph.evaluation.run_folder import FILE
from tmas_graph.settings import Settings

KILLS = 5
SLOW_TO_LOAD = ("chromadb", "sklearn.feature_extraction.text")


def latency(request: Request) -> float:
    """20 to 120 ms, the same for the same request."""
    return 0.02 + 0.1 * int(request.digest[:4], 16) / 0xFFFF


def sit(folder: str, file: str, values: dict[str, Any], runs: Event) -> None:
    """One sitting of the run, in a process of its own."""
    place, given = Path(folder), Settings.checked(values)

    async def work() -> None:
        note_calls(place.with_suffix(".log"))
        if (place / FILE).exists():
            runs.set()
            await gone_on(place, given)
        else:
            watch = Watch(begun=lambda standing: runs.set())
            await begun(place, Path(file), given, METHODS, watch=watch)

    asyncio.run(work())


@pytest.fixture(scope="module")
def processes() -> Any:
    """Starts processes quickly: they are forked from one that has loaded everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tmas_graph.evaluation.sitting", *SLOW_TO_LOAD])
    return context


@pytest.mark.early
@pytest.mark.timeout(600)
def test_killed_5_times_it_repeats_no_finished_call_and_has_the_same_rows(tmp_path, processes):
    rng, file = random.Random(2026), problems_file(tmp_path, 6)
    with server(script=Reasoner().short(), role_of=role_of, latency=latency) as at:
        given = settings(at, candidates=3, concurrency=16).model_dump(mode="json")

        def started(folder: Path) -> BaseProcess:
            runs = processes.Event()
            process: BaseProcess = processes.Process(
                target=sit, args=(str(folder), str(file), given, runs)
            )
            process.start()
            assert runs.wait(120)
            return process

        def ended(folder: Path) -> None:
            process = started(folder)
            process.join(300)
            assert process.exitcode == 0

        whole, broken = tmp_path / "whole", tmp_path / "broken"
        ended(whole)
        calls = len(at.requests)
        done, log = set[str](), broken.with_suffix(".log")
        for kill in range(KILLS):
            before, wanted = len(lines_of(log)), rng.randint(1, calls // (KILLS + 2))
            process, had = started(broken), len(at.requests)
            while process.is_alive() and len(at.requests) < had + wanted:
                process.join(0.005)
            assert process.is_alive(), f"it finished after {kill} kills: give it more to do"
            process.kill()
            process.join()
            noted = lines_of(log)[before:]
            assert not asked(noted) & done, f"finished calls were made again after kill {kill}"
            done |= came_in_time(noted)
        before = len(lines_of(log))
        ended(broken)
        assert not asked(lines_of(log)[before:]) & done
        made = len(at.requests) - calls
    assert rows(broken) == rows(whole)
    assert sum(row.spent.calls for row in rows(whole)) == calls
    assert sum(row.spent.calls for row in rows(broken)) == calls
    assert calls <= made <= calls + KILLS * 16, "more was repeated than can have been in flight"
