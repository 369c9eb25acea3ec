"""Parts of a run on several workers, here all in this process; they die as the test wants it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from endpoints.scripted import ScriptedServer
from runs_on_script import METHODS, begun, gone_on, rows, settings

from tmas_graph.call_sums import spent_by_thread
from tmas_graph.errors import ClusterError, StorageError
from tmas_graph.evaluation import parts, sitting
from tmas_graph.evaluation.books import Books
from tmas_graph.evaluation.dispatching import MOST_DEATHS, Dispatcher, HandGone
from tmas_graph.evaluation.part_worker import PartWorker
from tmas_graph.evaluation.planning import More
from tmas_graph.evaluation.reports import Brief, Report, Texts
from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.run_folder import FILE, Plan, RunLimits, thread_name
from tmas_graph.models import pool
from tmas_graph.models.pool import Load
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("pooled")]


@dataclass(eq=False)
class Near:
    """A worker in this process; dead, nothing more is heard of it."""

    worker: PartWorker
    dead: asyncio.Event = field(default_factory=asyncio.Event)

    async def report(self) -> Report:
        report, death = (
            asyncio.ensure_future(one) for one in (self.worker.report(), self.dead.wait())
        )
        try:
            await asyncio.wait([report, death], return_when=asyncio.FIRST_COMPLETED)
            if self.dead.is_set():
                raise HandGone("killed by the test")
            return await report
        finally:
            report.cancel()
            death.cancel()

    def take(self, part: parts.Part) -> None:
        self.worker.take(part)

    def note(self, elsewhere: Usage) -> None:
        self.worker.note(elsewhere)

    async def dismiss(self) -> None:
        await self.worker.dismiss()

    def kill(self) -> None:
        if self.worker._working:
            self.worker._working.cancel()


@dataclass
class Several:
    """Does a run with some workers in this process."""

    workers: int = 2
    brief: dict[str, Any] = field(default_factory=dict)
    """What the workers are told otherwise than is true."""
    doomed: bool = False
    """Every worker is dead before it begins."""
    absent: bool = False
    """Nothing is ever heard of the workers."""
    patience: float = 300.0
    hands: list[Near] = field(default_factory=list)

    def load(self) -> Load:
        return pool.load()

    def check(self, plan: Plan) -> None:
        pass

    async def run(self, books: Books) -> None:
        async with open_threads(books.folder) as store:
            jobs = await books.open(store, lambda: None)
            stored = await spent_by_thread(store.saver)
        before = {j: stored.get(thread_name(j.method, j.problem), Usage()) for j in jobs}

        def hire() -> Near:
            given = {
                "folder": str(books.folder),
                "plan": (books.folder / FILE).read_text(),
                "entrants": books.entrants,
                "models": books.plan.models,
                "limits": books.plan.limits,
                "seconds": 0.0,
            }
            brief = Brief(**{**given, **self.brief})
            self.hands.append(Near(PartWorker(brief, Texts(books.problems, books.found.golds))))
            if self.absent:
                self.hands[-1].report = asyncio.Event().wait  # type: ignore[method-assign]
            if self.doomed:
                self.hands[-1].dead.set()
            return self.hands[-1]

        await Dispatcher(books, hire, jobs, self.workers, self.patience).run(before)


async def test_several_workers_make_the_rows_of_one_process(at: ScriptedServer, file, folder):
    whole = folder.with_name("whole")
    await begun(whole, file, settings(at))
    calls = len(at.requests)
    standing = await begun(folder, file, settings(at), executor=Several())
    assert rows(folder) == rows(whole)
    assert standing.purse.spent.calls == len(at.requests) - calls == calls
    assert standing.done == 12
    assert not (folder / "parts").exists()
    async with open_threads(folder) as store, open_threads(whole) as other:
        assert await store.statuses() == await other.statuses()
        assert await spent_by_thread(store.saver) == await spent_by_thread(other.saver)
        record = await store.get(thread_name("tmas", "p1"))
        assert record.settings.memory_folder == str(folder / "memory")
        stored = [call async for call in store.calls(record.id).all()]
        assert all(call.messages[0]["content"] for call in stored)


async def test_a_run_goes_on_here_or_there_without_a_call_twice(at: ScriptedServer, file, folder):
    given, whole = settings(at, concurrency=4), folder.with_name("whole")
    await begun(folder, file, given, limits={"max_calls": 20})
    more = await gone_on(folder, given, executor=Several(), limits=RunLimits(max_calls=50))
    assert more.halted
    # Four are in flight, and each worker may begin as many before the word reaches it.
    assert 50 <= more.purse.spent.calls == len(at.requests) < 50 + 4 + 2 * 4
    await gone_on(folder, given, limits=RunLimits(max_calls=1000))
    made = len(at.requests)
    await begun(whole, file, given)
    assert rows(folder) == rows(whole)
    assert made == len(at.requests) - made


async def test_the_parts_of_a_dead_worker_go_to_others(at: ScriptedServer, file, folder):
    several, died = Several(3), []

    def kill(ended: object) -> None:
        busy = [hand for hand in several.hands if hand.worker._open and not hand.dead.is_set()]
        if busy and len(died) < 3:
            died.append(busy[0])
            busy[0].dead.set()

    given, whole = settings(at, concurrency=2), folder.with_name("whole")
    watch = sitting.Watch(ended=kill)
    standing = await begun(folder, file, given, watch=watch, executor=several)
    assert len(died) == 3
    assert standing.done == 12
    made = len(at.requests)
    await begun(whole, file, given)
    calls = len(at.requests) - made
    # What was cut off is in the spend, as the server may have worked on it.
    assert [row.attempts for row in rows(folder)] == [row.attempts for row in rows(whole)]
    assert calls <= made <= calls + 3 * 2, "more was repeated than can have been in flight"


async def test_a_killed_sitting_is_gathered_by_the_next_one(at: ScriptedServer, file, folder):
    given, whole = settings(at, concurrency=2), folder.with_name("whole")
    ended = asyncio.Event()
    running = asyncio.create_task(
        begun(
            folder,
            file,
            given,
            watch=sitting.Watch(ended=lambda rows: ended.set()),
            executor=Several(),
        )
    )
    await ended.wait()
    # As `kill -9` leaves it: parts, with threads in them.
    [*left] = [place for place in (folder / "parts").iterdir() if place.is_dir()]
    assert left
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await gone_on(folder, given)
    await begun(whole, file, given)
    assert [row.attempts for row in rows(folder)] == [row.attempts for row in rows(whole)]


async def test_workers_that_only_die_end_the_run(at: ScriptedServer, file, folder):
    with pytest.raises(ClusterError, match=f"died {MOST_DEATHS} times in a row"):
        await begun(folder, file, settings(at), executor=Several(1, doomed=True))
    await gone_on(folder, settings(at))
    assert len(rows(folder)) == 16


async def test_a_run_without_workers_ends_and_can_go_on(at: ScriptedServer, file, folder):
    nobody = Several(2, absent=True, patience=0.1)
    with pytest.raises(ClusterError, match=r"no worker was there for 0\.1 s \(2 wanted"):
        await begun(folder, file, settings(at), executor=nobody)
    assert at.requests == []
    await gone_on(folder, settings(at))
    assert len(rows(folder)) == 16


async def test_a_worker_that_sees_another_folder_is_told_of_it(at: ScriptedServer, file, folder):
    with pytest.raises(StorageError, match=r"doesn't see this run in .*--shard"):
        await begun(folder, file, settings(at), executor=Several(1, {"plan": "{}"}))


async def test_a_failed_problem_is_a_row_wherever_it_failed(at: ScriptedServer, file, folder):
    at.change(fail=lambda request: 400 if "What is 1 " in request.text else None)
    standing = await begun(folder, file, settings(at), ["tmas"], executor=Several())
    assert (standing.done, standing.failed) == (3, 1)
    at.change(fail=None)
    standing = await sitting.go_on(folder, More(), settings(at), executor=Several())
    assert (standing.done, standing.failed) == (4, 0)
    assert METHODS[0] in standing.methods


async def test_all_workers_have_something_to_do_and_no_part_is_large() -> None:
    jobs = [Job(f"p{i}", "tmas") for i in range(8000)]
    assert [len(part.jobs) for part in parts.cut(jobs[:4], 2)] == [1, 1, 1, 1]
    assert [len(part.jobs) for part in parts.cut(jobs[:32], 2)] == [2] * 16
    large = parts.cut(jobs, 2)
    assert [job for part in large for job in part.jobs] == jobs
    assert max(len(part.jobs) for part in large) == 32
    assert len({part.name for part in large}) == len(large)
