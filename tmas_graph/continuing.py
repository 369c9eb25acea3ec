"""How a thread goes on: TMAS from its state, any other method from the calls that it had made."""

from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from tmas_graph.memory import opening
from tmas_graph.methods import find
from tmas_graph.models.budget import Budget
from tmas_graph.parts.method import Workflow
from tmas_graph.progress import stop_reason
from tmas_graph.records import Record
from tmas_graph.running import OnEvent, follow
from tmas_graph.state import Result


async def go_on(
    workflow: Workflow,
    record: Record,
    config: RunnableConfig,
    budget: Budget,
    on_event: OnEvent | None = None,
) -> Result:
    """Run `record` with its method's `workflow`, from where its thread stands; it may be new."""
    if not find(record.method).is_tmas:
        return await _from_calls(workflow, record, config, budget, on_event)
    async with opening.held(record.settings, record.problem.id):
        return await _from_state(workflow, record, config, budget, on_event)


async def _from_state(
    graph: Workflow,
    record: Record,
    config: RunnableConfig,
    budget: Budget,
    on_event: OnEvent | None,
) -> Result:
    found = await graph.aget_state(config)
    given: Any = None
    if found.created_at is None:
        given = {"problem": record.problem}
    elif not found.tasks:  # `next` is empty, too, for tasks whose writes alone were stored
        # An iteration that a budget cut short isn't over: its candidates go on with more.
        if stop := stop_reason(found.values, record.settings, budget):
            if on_event is not None:
                on_event({"event": "already", "stop": stop})
            return cast(Result, found.values["result"])
        await graph.aupdate_state(config, {"stop": None}, as_node="decide")
    result = await follow(graph, given, config, record.settings, on_event)
    if found.tasks and result.stop == "budget":
        # It may be an earlier sitting's stop, which broke off before it was stored.
        state = (await graph.aget_state(config)).values
        if not stop_reason(state, record.settings, budget):
            return await _from_state(graph, record, config, budget, on_event)
    return result


async def _from_calls(
    workflow: Workflow,
    record: Record,
    config: RunnableConfig,
    budget: Budget,
    on_event: OnEvent | None,
) -> Result:
    found, calls = await workflow.aget_state(config), budget.spent.calls
    # A run that was broken off goes on; what of it was finished is in its last checkpoint.
    given: Any = None if found.tasks else {"problem": record.problem}
    result = await follow(workflow, given, config, record.settings, on_event)
    if found.created_at and budget.spent.calls == calls and on_event is not None:
        on_event({"event": "already", "stop": result.stop})
    return result
