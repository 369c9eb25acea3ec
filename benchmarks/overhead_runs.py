"""The two things that `overhead` compares: a durable run, and its calls made by plain asyncio."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process_figures import children_seconds, peak
from benchmarks.quick.process import counts, problems_file
from tmas_graph import Settings
from tmas_graph.call_store import SqliteCalls
from tmas_graph.evaluation.books import Books
from tmas_graph.evaluation.planning import asked, fresh
from tmas_graph.evaluation.problem_set import source_of
from tmas_graph.evaluation.runner import Runner
from tmas_graph.models import pool
from tmas_graph.models.calls import Call
from tmas_graph.models.making import Ask
from tmas_graph.prompts import Prompt
from tmas_graph.threads import look_into, open_threads

_DURABLE, _WARM = "run", "warm"


@dataclass(frozen=True, slots=True)
class Workload:
    """How many problems, and how large each is."""

    base_url: str
    problems: int
    candidates: int = 8
    verifications: int = 8
    iterations: int = 2
    concurrency: int = 64
    together: bool = True
    """Whether one request asks for all checks of a candidate; else each is a call of its own."""

    @property
    def settings(self) -> Settings:
        """Those of the run."""
        return Settings.preset(
            "paper",
            base_url=self.base_url,
            candidates=self.candidates,
            verifications=self.verifications,
            iterations=self.iterations,
            concurrency=self.concurrency,
            early_stop=False,
            multiple_replies=self.together,
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """What one way of making the calls took."""

    calls: int
    replies: int
    reply_bytes: int
    seconds: float
    cpu: float
    """Seconds of this process, all its threads together."""
    bank_cpu: float
    """Seconds of the process that keeps the experience bank."""
    megabytes: float
    """More at most than before."""
    in_flight: int
    """The most problems that were under way at once."""
    database: int = 0
    """Bytes."""


def durable(work: Workload, folder: Path) -> Figures:
    """Solve the problems with all that a run does: database, banks, rows, grading."""
    folder.mkdir(parents=True)
    return asyncio.run(_measured(work, folder, _run, warm_up=True))


def plain(work: Workload, folder: Path, *, ahead: bool) -> Figures:
    """Make the same calls as the run in `folder` did, in the same order, and keep nothing.

    Args:
        work: what that run was given.
        folder: where it is.
        ahead: read all prompts before, so that no time is lost with it; else when they are needed.
    """
    return asyncio.run(_replayed(work, folder, ahead))


async def _measured(
    work: Workload,
    folder: Path,
    run: Callable[[Workload, Path], Awaitable[int]],
    *,
    warm_up: bool = False,
) -> Figures:
    if warm_up:  # loads what is loaded once
        await run(Workload(work.base_url, 1, 2, 2, 2), folder / _WARM)
    before, bank = counts(work.base_url), children_seconds()
    since, cpu = time.perf_counter(), time.process_time()
    with peak() as memory:
        in_flight = await run(work, folder / _DURABLE)
    seconds, cpu = time.perf_counter() - since, time.process_time() - cpu
    after = counts(work.base_url)
    calls, replies, size = (
        after[name] - before.get(name, 0) for name in ("answered", "replies", "reply_bytes")
    )
    database = sum(file.stat().st_size for file in (folder / _DURABLE).glob("tmas.sqlite*"))
    more, bank = memory.most - memory.before, children_seconds() - bank
    await pool.close()
    return Figures(calls, replies, size, seconds, cpu, bank, more, in_flight, database)


async def _run(work: Workload, folder: Path) -> int:
    source = source_of(str(_problems(work.problems, folder)))
    found = source.load()
    names = [problem.id for problem in found.problems]
    plan = await asked(fresh(source, found, names, ["tmas"], work.settings))
    async with open_threads(folder) as store:
        runner = Runner(Books(folder, plan, found), store)
        await runner.run()
    return runner.admission.most


def _problems(count: int, folder: Path) -> Path:
    folder.mkdir()
    return problems_file(folder.with_suffix(".jsonl"), count)


async def _replayed(work: Workload, folder: Path, ahead: bool) -> Figures:
    async with look_into(folder / _DURABLE) as store:
        threads = [store.calls(record.id) for record in await store.all()]
        chains = [await _chain(calls, ahead) for calls in threads]

        async def run(work: Workload, folder: Path) -> int:
            client = await pool.connect(work.settings.endpoint("solution"))

            async def made(recorded: "_Recorded") -> None:
                call = await recorded()
                ask = Ask(call.n, call.seed, call.place, call.purpose)
                await client.ask(Prompt(list(call.messages)), ask)

            async def candidate(steps: list["_Recorded"]) -> None:
                for step in steps:
                    await made(step)

            async def problem(chain: "_Chain") -> None:
                for iteration in chain:
                    for stage in iteration:
                        await asyncio.gather(*map(candidate, stage))

            await asyncio.gather(*map(problem, chains))
            return len(chains)

        return await _measured(work, folder, run)


_Recorded = Callable[[], Awaitable[Call]]
_Chain = list[tuple[list[list[_Recorded]], list[list[_Recorded]]]]
"""By iteration: what the candidates ask, each one after the other; then what the banks ask."""


async def _chain(calls: SqliteCalls, ahead: bool) -> _Chain:
    steps: dict[int, tuple[dict[int, list[_Recorded]], list[list[_Recorded]]]] = {}
    async for row in calls.rows():
        candidates, banks = steps.setdefault(row.iteration, ({}, []))
        recorded = _kept(await calls.get(row.id)) if ahead else _later(calls, row.id)
        if row.role in ("experience", "guideline"):
            banks.append([recorded])
        else:
            candidates.setdefault(row.candidate, []).append(recorded)
    return [(list(candidates.values()), banks) for _, (candidates, banks) in sorted(steps.items())]


def _kept(call: Call) -> _Recorded:
    async def given() -> Call:
        return call

    return given


def _later(calls: SqliteCalls, name: str) -> _Recorded:
    return lambda: calls.get(name)
