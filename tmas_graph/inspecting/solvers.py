"""Every method as a solver of inspect's: `--solver tmas_graph/tmas`, `tmas_graph/self-refine`.

Settings are those in force (tmas.toml, TMAS_ variables), and what `-S` gives on top of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Literal, get_args

from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from langchain_core.runnables import RunnableConfig

from tmas_graph.configuration import adjusted, load
from tmas_graph.errors import SettingsError
from tmas_graph.inspecting import usages
from tmas_graph.inspecting.clients import through_endpoints, through_inspect
from tmas_graph.inspecting.spans import Spans
from tmas_graph.memory import opening
from tmas_graph.methods import METHODS, Method, find
from tmas_graph.models.budget import Budget
from tmas_graph.models.checkpointed import BUDGET, CONNECT
from tmas_graph.running import follow, ready
from tmas_graph.settings import Settings
from tmas_graph.state import Problem, Result

Way = Literal["inspect", "endpoints"]
"""Where calls go: to the models of the eval, or to the endpoints of the settings."""
KEY = "tmas"
"""In the store of a sample: what became of it."""
_TOLD = frozenset({"experience", "guideline", "standing"})
"""Events that the transcript shows."""
_NOWHERE = "http://inspect.invalid/v1"
"""An endpoint, so that the settings aren't those for a small local model; nothing is sent to it."""


@solver
def method(
    name: str = "tmas",
    way: Way = "inspect",
    settings_file: str | None = None,
    preset: str | None = None,
    **settings: Any,
) -> Solver:
    """Solve each sample by a method.

    Args:
        name: as `tmas methods` lists them; settings may follow in brackets.
        way: `inspect` asks the models of the eval; `endpoints` those of the settings, with our
            own limiter, retries and streams, and inspect is told what they cost.
        settings_file: instead of ./tmas.toml.
        preset: instead of the one that file or environment name.
        settings: any setting, by its name, dotted where it is a role's or a method's.

    Raises:
        SettingsError: a method or a setting doesn't exist or is out of range.
    """
    return _solving(name, way, settings_file, preset, settings)


def _solving(
    name: str, way: Way, file: str | None, preset: str | None, changes: Mapping[str, Any]
) -> Solver:
    if way not in get_args(Way):
        raise SettingsError(f"way: {way!r} was given. Use {' or '.join(get_args(Way))}.")
    found = find(name)
    nowhere = {"base_url": _NOWHERE} if way == "inspect" else {}
    given = load(file, preset=preset, changes={**changes, **nowhere}).settings
    applied = found.applied(given)
    if way == "inspect" and applied.max_cost is not None:
        raise SettingsError(
            f"max_cost: {applied.max_cost:g} was given, but inspect counts the money of its own "
            "models. Give inspect a --cost-limit, or -S way=endpoints."
        )

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        settings = adjusted(applied, {"seed": applied.seed + state.epoch - 1}, "epoch")
        result = await _solved(
            found, way, Problem(state.input_text, str(state.sample_id)), settings
        )
        state.store.set(KEY, {"method": name, **_kept(result)})
        state.output = ModelOutput.from_content(str(state.model), result.solution)
        state.output.usage = usages.theirs(result.usage)
        if state.output.choices:
            state.messages.append(state.output.message)
        return state

    return solve


async def _solved(found: Method, way: Way, problem: Problem, settings: Settings) -> Result:
    if way == "endpoints":
        await ready(settings)
    else:
        await opening.check(settings)
    spans, budget = Spans(), Budget.of(settings)
    connect = through_inspect(spans) if way == "inspect" else through_endpoints(spans)
    config: RunnableConfig = {"configurable": {BUDGET: budget, CONNECT: connect}}

    def told(event: Mapping[str, Any]) -> None:
        if event["event"] in _TOLD:
            spans.tell(dict(event))
        if event["event"] == "standing":
            spans.close(event["iteration"])

    try:
        async with opening.held(settings, problem.id):
            return await follow(found.build(), {"problem": problem}, config, settings, told)
    finally:
        await spans.aclose()


def _kept(result: Result) -> dict[str, Any]:
    """What the store of a sample holds of a result: all but the text, which is the output."""
    kept = asdict(result)
    del kept["solution"]
    return kept


def _named(name: str) -> Callable[..., Solver]:
    """The method of this name as a solver of the same name."""

    @solver(name=name)
    def named(
        way: Way = "inspect",
        settings_file: str | None = None,
        preset: str | None = None,
        **settings: Any,
    ) -> Solver:
        return _solving(name, way, settings_file, preset, settings)

    return named


SOLVERS = {name: _named(name) for name in METHODS}
"""By the method's name."""
