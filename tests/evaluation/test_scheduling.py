import asyncio
from dataclasses import dataclass

import pytest

from tmas_graph.evaluation.row_log import Job
from tmas_graph.evaluation.scheduling import Admission
from tmas_graph.models.calls import Place
from tmas_graph.settings import ALL_ROLES, AnyRole

pytestmark = pytest.mark.anyio


@dataclass
class Load:
    in_flight: int = 0
    waiting: int = 0
    allowed: int = 4


class Jobs:
    """Jobs that make their calls, and end, when they are told to."""

    def __init__(self, allowed: int, width: int, ahead: int = 1) -> None:
        self.load = Load(allowed=allowed)
        self.width = width
        self.admission = Admission(lambda: self.load, lambda job: width, ahead)
        self.begun: list[str] = []
        self.ends: dict[str, asyncio.Future[None]] = {}

    async def work(self, job: Job) -> None:
        self.begun.append(job.problem)
        self.ends[job.problem] = asyncio.get_running_loop().create_future()
        await self.ends[job.problem]

    def run(self, count: int) -> "asyncio.Task[None]":
        jobs = (Job(f"p{i}", "m") for i in range(count))
        return asyncio.create_task(self.admission.run(jobs, self.work))

    def ask(self, name: str) -> None:
        """Its calls reach the limiter."""
        self.load.in_flight += self.width
        self.admission.asked(Job(name, "m"))

    def end(self, name: str) -> None:
        self.load.in_flight -= self.width
        self.ends[name].set_result(None)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_more_begin_than_fill_the_limiter():
    jobs = Jobs(allowed=4, width=2)
    running = jobs.run(5)
    await settle()
    assert jobs.begun == ["p0", "p1"]
    jobs.ask("p0")
    jobs.ask("p1")
    await settle()
    assert jobs.begun == ["p0", "p1"]
    for name in ("p0", "p1", "p2", "p3", "p4"):
        jobs.end(name)
        await settle()
        for begun in jobs.begun:
            jobs.admission.asked(Job(begun, "m"))
        await settle()
    await running
    assert jobs.begun == ["p0", "p1", "p2", "p3", "p4"]
    assert jobs.admission.running == 0


async def test_so_many_begin_that_calls_wait_for_slots():
    jobs = Jobs(allowed=4, width=2, ahead=3)
    running = jobs.run(9)
    await settle()
    assert len(jobs.begun) == 6
    for future in jobs.ends.values():
        future.set_result(None)
    while len(jobs.begun) < 9:
        await settle()
    for name in jobs.begun[6:]:
        jobs.ends[name].set_result(None)
    await running


async def test_another_begins_when_calls_end_though_no_job_does():
    jobs = Jobs(allowed=2, width=2)
    running = jobs.run(2)
    await settle()
    jobs.ask("p0")
    await settle()
    assert jobs.begun == ["p0"]
    jobs.load.in_flight = 0
    jobs.admission.changed()
    await settle()
    assert jobs.begun == ["p0", "p1"]
    jobs.ends["p0"].set_result(None)
    jobs.ends["p1"].set_result(None)
    await running


async def test_one_runs_though_it_is_wider_than_the_limiter():
    jobs = Jobs(allowed=1, width=8)
    running = jobs.run(2)
    await settle()
    assert jobs.begun == ["p0"]
    jobs.ends["p0"].set_result(None)
    await settle()
    assert jobs.begun == ["p0", "p1"]
    jobs.ends["p1"].set_result(None)
    await running


async def test_none_begins_once_it_is_closed():
    jobs = Jobs(allowed=1, width=1)
    running = jobs.run(3)
    await settle()
    jobs.admission.closed = True
    jobs.ends["p0"].set_result(None)
    await running
    assert jobs.begun == ["p0"]


async def test_an_error_of_one_ends_the_others_and_is_raised_itself():
    jobs = Jobs(allowed=2, width=1)
    running = jobs.run(3)
    await settle()
    assert jobs.begun == ["p0", "p1"]
    jobs.ends["p0"].set_exception(OSError("full"))
    with pytest.raises(OSError, match="full"):
        await running
    assert jobs.ends["p1"].cancelled()
    assert jobs.begun == ["p0", "p1"]


async def test_a_cancelled_run_waits_for_its_jobs_to_stop():
    jobs, stopped = Jobs(allowed=2, width=1), list[str]()

    async def work(job: Job) -> None:
        try:
            await jobs.work(job)
        finally:
            await asyncio.sleep(0)
            stopped.append(job.problem)

    names = [Job("p0", "m"), Job("p1", "m")]
    running = asyncio.create_task(jobs.admission.run(names, work))
    await settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(stopped) == ["p0", "p1"]


async def test_earlier_iterations_go_first_and_at_the_end_earlier_steps_of_one_too():
    def place(iteration: int, role: AnyRole) -> Place:
        return Place("p", iteration, role)

    steps = [place(1, role) for role in ALL_ROLES]
    jobs = Jobs(allowed=4, width=2)
    running = jobs.run(3)
    await settle()
    before = [jobs.admission.order(step) for step in steps]
    assert jobs.admission.order(place(0, "guideline")) < before[0]
    assert len(set(before)) == 1
    jobs.end("p0")
    jobs.end("p1")
    await settle()
    assert jobs.begun == ["p0", "p1", "p2"]
    at_the_end = [jobs.admission.order(step) for step in steps]
    assert at_the_end == sorted(set(at_the_end))
    assert jobs.admission.order(place(0, "judge")) < at_the_end[0]
    assert at_the_end[-1] < jobs.admission.order(place(2, "solution"))
    jobs.end("p2")
    await running
