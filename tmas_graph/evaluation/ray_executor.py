"""Does a run's jobs on a Ray cluster; the one file that knows Ray.

A worker is an actor that works on parts of the run; the process that was started by the user keeps
the books. Keys travel in the actor's arguments, which are small enough for Ray to keep in memory.
"""

import asyncio
import atexit
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Thread
from typing import Any

from tmas_graph.call_sums import spent_by_thread
from tmas_graph.errors import ClusterError, MissingExtra
from tmas_graph.evaluation.books import Books
from tmas_graph.evaluation.cluster_head import answers, knock, while_headed
from tmas_graph.evaluation.dispatching import PATIENCE, Dispatcher, HandGone
from tmas_graph.evaluation.entrants import Entrant
from tmas_graph.evaluation.part_worker import PartWorker
from tmas_graph.evaluation.parts import Part
from tmas_graph.evaluation.planning import placed
from tmas_graph.evaluation.reports import Brief, Report, Texts
from tmas_graph.evaluation.run_folder import FILE, Plan, thread_name
from tmas_graph.evaluation.shares import most_workers, refuse_unshared, share
from tmas_graph.models import pool
from tmas_graph.models.pool import Load
from tmas_graph.threads import open_threads
from tmas_graph.usage import Usage

_PLACE = re.compile(r"([^/]+):(\d+)")
_FAREWELL = 10.0
"""Seconds in which a worker must be dead when its cluster answers."""


class RayExecutor:
    """Workers on the cluster at `address`; with none, on this machine's, or on one made here."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        """Use `workers` processes; None: one for each node.

        Raises:
            MissingExtra: Ray isn't installed.
        """
        self._ray = _import()
        self._address, self._workers = address, workers
        self._dispatcher: Dispatcher | None = None

    def load(self) -> Load:
        """How busy the endpoints are, all workers together."""
        return self._dispatcher.load() if self._dispatcher else Load(0, 0, 0)

    def check(self, plan: Plan) -> None:
        """Make sure that `plan` can be done by several processes.

        Raises:
            SettingsError: a setting stands against it.
        """
        for entrant in plan.entrants:
            refuse_unshared(entrant.settings)

    async def run(self, books: Books) -> None:
        """Do all that is left to do.

        Raises:
            ClusterError: the cluster can't be used, or workers keep dying.
            TmasError: the run can't go on, for a reason that concerns every problem.
        """
        async with open_threads(books.folder) as store:
            jobs = await books.open(store, lambda: None)
            stored = await spent_by_thread(store.saver)
        before = {j: stored.get(thread_name(j.method, j.problem), Usage()) for j in jobs}
        if not jobs:
            return
        await asyncio.to_thread(self._connect)
        head = self._head()
        workers = self._count(books.plan.entrants)
        hire = _Hiring(self._ray, books, workers)
        try:
            self._dispatcher = Dispatcher(books, hire, jobs, workers, patience=PATIENCE)
            await while_headed(self._dispatcher.run(before), head)
        finally:
            if await asyncio.to_thread(answers, head):
                await asyncio.to_thread(self._leave, hire.kills)
            else:  # it would wait for the head, until Ray ends this process
                atexit.unregister(self._ray.shutdown)

    def _connect(self) -> None:
        try:
            if found := _PLACE.fullmatch(self._address or ""):  # Ray would try for ten minutes
                knock((found[1], int(found[2])))
            self._ray.init(
                address=self._address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
            )
        except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise ClusterError(
                f"--ray-address: no Ray cluster can be used at {self._address or 'this machine'} "
                f"({reason:.200}). Start one with `ray start --head`, or give another address."
            ) from error

    def _leave(self, kills: Iterable[Thread]) -> None:
        for kill in kills:
            kill.join(_FAREWELL)  # one that is late would find no cluster, and make one
        self._ray.shutdown()

    def _head(self) -> tuple[str, int]:
        host, _, port = self._ray.get_runtime_context().gcs_address.rpartition(":")
        return host, int(port)

    def _count(self, entrants: Iterable[Entrant]) -> int:
        """How many workers: no more than there are processors, or than limits can be shared."""
        alive = [node["Resources"].get("CPU", 0) for node in self._ray.nodes() if node["Alive"]]
        nodes = [int(processors) for processors in alive if processors >= 1]
        wanted = self._workers or len(nodes)
        return max(1, min(wanted, sum(nodes), *(most_workers(e.settings) for e in entrants)))


@dataclass(slots=True)
class RayHand:
    """A worker that is an actor."""

    ray: Any
    actor: Any
    kills: list[Thread]
    """That are under way."""

    async def report(self) -> Report:
        """What happened since the last report.

        Raises:
            HandGone: its process or node is dead.
        """
        try:
            report: Report = await self.actor.report.remote()
            return report
        except self.ray.exceptions.RayActorError as error:
            raise HandGone(str(error).splitlines()[0]) from error
        except self.ray.exceptions.RayError as error:
            raise ClusterError(
                f"run: a worker can't be reached ({str(error).splitlines()[0]:.300}). "
                "See to the cluster's logs, then resume."
            ) from error

    def take(self, part: Part) -> None:
        """Do `part`, too."""
        self.actor.take.remote(part)

    def note(self, elsewhere: Usage) -> None:
        """Take in what all others have spent."""
        self.actor.note.remote(elsewhere)

    async def dismiss(self) -> None:
        """Leave all parts and end."""
        try:
            await self.actor.dismiss.remote()
        except self.ray.exceptions.RayError as error:
            raise HandGone(str(error).splitlines()[0]) from error

    def kill(self) -> None:
        """End at once."""
        kill = partial(self.ray.kill, self.actor, no_restart=True)
        self.kills.append(Thread(target=kill, daemon=True))  # it blocks while there is no head
        self.kills[-1].start()


class _Hiring:
    """Starts workers, each with its share of the limits."""

    def __init__(self, ray: Any, books: Books, workers: int) -> None:
        """Share limits among so many `workers`."""
        self._ray, self._books = ray, books
        self.kills: list[Thread] = []
        self._entrants: Mapping[str, Entrant] = {
            label: replace(e, settings=share(placed(e, books.folder), workers))
            for label, e in books.entrants.items()
        }
        self._texts = ray.put(Texts(books.problems, dict(books.found.golds)))
        options = {"num_cpus": 1, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._kind = ray.remote(**options)(_Actor)

    def __call__(self) -> RayHand:
        books = self._books
        brief = Brief(
            folder=str(books.folder.resolve()),
            plan=(books.folder / FILE).read_text(encoding="utf-8"),
            entrants=self._entrants,
            models=books.plan.models,
            limits=books.plan.limits,
            seconds=books.standing.purse.seconds,
        )
        return RayHand(self._ray, self._kind.remote(brief, self._texts), self.kills)


class _Actor:
    """A worker in a process of its own; asynchronous, so that all is done in one event loop."""

    def __init__(self, brief: Brief, texts: Texts) -> None:
        self._worker = PartWorker(brief, texts)

    async def report(self) -> Report:
        return await self._worker.report()

    async def take(self, part: Part) -> None:
        self._worker.take(part)

    async def note(self, elsewhere: Usage) -> None:
        self._worker.note(elsewhere)

    async def dismiss(self) -> None:
        await self._worker.dismiss()
        await pool.close()


def _import() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # else a cluster made here phones home
    try:
        import ray  # noqa: PLC0415  (an extra, and it takes a second)
    except ImportError as error:
        raise MissingExtra(
            'ray isn\'t installed, and --executor ray needs it. Run: pip install "tmas-graph[ray]"'
        ) from error
    return ray
