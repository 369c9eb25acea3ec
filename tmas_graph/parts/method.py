"""Makes a LangGraph workflow of a method's plain loop, with the graph's input and output."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime

from tmas_graph.parts.run import Halted, Run
from tmas_graph.rollout import settings_of
from tmas_graph.serde import restored
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Input, Output, Stop, as_problem

Workflow = Pregel[Any, Any, Any, Any]
Solve = Callable[[Run], Awaitable[Stop | None]]
"""A method's loop; it may say why it stops, where that isn't that all rounds are done."""


class Build(Protocol):
    """Compiles a method as `graph.build_graph` compiles TMAS."""

    def __call__(
        self,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        *,
        context_schema: type[Settings] = Settings,
    ) -> Workflow:
        """Compile it."""
        ...


def method(solve: Solve, rule: Rule | Callable[[Settings], Rule]) -> Build:
    """What compiles the method whose loop is `solve` and whose answer is chosen by `rule`."""

    def build(
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        *,
        context_schema: type[Settings] = Settings,
    ) -> Workflow:
        async def run(given: Input, *, runtime: Runtime[Settings]) -> Output:
            settings = settings_of(runtime)
            chosen_by = rule if isinstance(rule, Rule) else rule(settings)
            problem = as_problem(given["problem"])
            it = Run(problem, settings, runtime.stream_writer, chosen_by)
            try:
                stop = await solve(it)
            except Halted:
                stop = "budget"
            result = it.result(stop or "iterations")
            it.tell({"event": "result", "result": result})
            return {"result": result}

        run.__name__ = solve.__name__
        made = entrypoint(checkpointer=restored(checkpointer), context_schema=context_schema)
        return made(run)

    return build
