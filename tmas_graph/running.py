"""Running a method: follow its events, solve one problem, from code of either colour."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig

from tmas_graph.errors import SettingsError
from tmas_graph.memory import opening
from tmas_graph.methods import find
from tmas_graph.models import pool
from tmas_graph.models.budget import Budget
from tmas_graph.models.calls import CallLog
from tmas_graph.models.checkpointed import BUDGET, LOG
from tmas_graph.parts.method import Workflow
from tmas_graph.settings import Settings
from tmas_graph.state import Input, Problem, Result, as_problem

OnEvent = Callable[[Mapping[str, Any]], None]
"""Called with each event of a run, in the thread of its event loop; must return at once."""
_T = TypeVar("_T")


async def asolve(
    problem: Problem | str,
    settings: Settings | None = None,
    *,
    method: str = "tmas",
    run: Budget | None = None,
    calls: str | Path | None = None,
    on_event: OnEvent | None = None,
) -> Result:
    """Solve `problem` in memory and give the answer with the best evidence.

    Args:
        problem: a Problem, or the text of a question.
        settings: how to; with none, the preset `local` on a small local model.
        method: by which; `tmas methods` lists them. Settings may follow, as in `tmas[epsilon=1]`.
        run: a budget that this problem shares with others; its own limits are in `settings`.
        calls: a file to which every model call is added, as a line of JSON.
        on_event: called with each event of the run.

    Raises:
        ProblemError: the problem is empty.
        SettingsError: there is no such method, `run` is no Budget, or `calls` no path.
        CallError: an endpoint can't be used; the message says what to do.
        StorageError: the experience bank can't be used.
        AllCandidatesFailed: no candidate of an iteration came through.
    """
    given, found = as_problem(problem), find(method)
    settings = found.applied(settings or Settings.preset("local"))
    if not isinstance(run, Budget | None):
        raise SettingsError(f"run: a {type(run).__name__} was given. Give a Budget.")
    if not isinstance(calls, str | Path | None) or calls == "":
        raise SettingsError(f"calls: {calls!r} was given. Give the path of a file.")
    await ready(settings)
    budget = Budget.of(settings, within=run)
    async with _log_in(calls) as log, opening.held(settings, given.id):
        config: RunnableConfig = {"configurable": {BUDGET: budget, LOG: log}}
        result = await follow(found.build(), {"problem": given}, config, settings, on_event)
    return replace(result, usage=budget.spent)


def solve(
    problem: Problem | str,
    settings: Settings | None = None,
    *,
    method: str = "tmas",
    run: Budget | None = None,
    calls: str | Path | None = None,
    on_event: OnEvent | None = None,
) -> Result:
    """As `asolve`, from code that isn't asynchronous; also inside a notebook's running loop."""
    more: dict[str, Any] = {"run": run, "calls": calls, "on_event": on_event}
    return run_blocking(lambda: asolve(problem, settings, method=method, **more))


async def ready(settings: Settings, *, limited: str = "") -> dict[str, str]:
    """Make sure that endpoints and experience bank answer, before a call is paid for.

    Args:
        settings: what is to be run with.
        limited: what else than `max_cost` limits money, if anything does.

    Returns:
        The served model of each role.

    Raises:
        CallError: an endpoint can't be used; the message says what to do.
        SettingsError: a tokenizer can't be loaded, or money is limited and a model has no price.
        StorageError: the experience bank can't be used.
        MissingExtra: a setting needs a package that isn't installed.
    """
    opening.begin(settings)
    models = await pool.check(settings, limited=limited)
    await opening.check(settings)
    return models


async def follow(
    graph: Workflow,
    given: Input | None,
    config: RunnableConfig,
    settings: Settings,
    on_event: OnEvent | None = None,
) -> Result:
    """Run `graph` to its end, from `given` or, with None, from where its thread stands.

    Every method ends by telling its result as an event; it comes once, also where the run had
    been broken off after its last node and before the checkpoint that follows.
    """
    result: Result | None = None
    stream: Any = graph.astream(
        given, config, context=settings, stream_mode="custom", subgraphs=True
    )
    async for _, event in stream:
        if event["event"] == "result":
            result = event["result"]
        if on_event is not None:
            on_event(event)
    if result is None:
        result = (await graph.aget_state(config)).values["result"]
        if on_event is not None:
            on_event({"event": "result", "result": result})
    assert result is not None
    return result


@asynccontextmanager
async def _log_in(file: str | Path | None) -> AsyncIterator[CallLog | None]:
    """A log that writes to `file`, where one is given; whole on disk when this ends."""
    if file is None:
        yield None
        return
    from tmas_graph.models.jsonl_calls import JsonlCalls  # noqa: PLC0415  (only where asked for)

    log = JsonlCalls(file)
    try:
        yield log
    finally:
        await log.aclose()


def run_blocking(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run `work()` to its end in an event loop of its own, whether or not one runs here."""

    async def all_of_it() -> _T:
        try:
            return await work()
        finally:
            await pool.close()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(all_of_it())
    outcome: list[_T] = []
    failure: list[BaseException] = []

    def elsewhere() -> None:
        try:
            outcome.append(asyncio.run(all_of_it()))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=elsewhere, name="tmas-solve")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]
