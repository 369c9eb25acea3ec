"""The cycle, as in the figure of the paper (arXiv 2605.10344): nodes, edges, the ε-branch.

START → plan ═(one Send per candidate)═▶ rollout × N ─▶ experience ∥ guideline ─▶ decide
          ▲                                                                          │
          └──────────────────────────── next iteration ──────────────────────────────┤
                                                                    finish → END ◀───┘
"""

import asyncio
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config
from langgraph.func import task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from tmas_graph import progress
from tmas_graph.banks import update_experience, update_guideline
from tmas_graph.channels import State, Update
from tmas_graph.errors import AllCandidatesFailed
from tmas_graph.events import of_candidate
from tmas_graph.memory.borrowing import ready
from tmas_graph.models.budget import Budget
from tmas_graph.models.checkpointed import BUDGET
from tmas_graph.rollout import build_rollout, memory_of, settings_of
from tmas_graph.serde import keeps_calls, restoring
from tmas_graph.settings import Settings
from tmas_graph.state import Input, Output, Unstored, as_problem

GRAPH_VERSION = 4
"""Changes when threads of older versions can't be resumed: nodes or state were renamed."""


async def plan(state: State, runtime: Runtime[Settings]) -> Update:
    """Draw for each candidate of the next iteration whether it exploits or explores.

    An iteration that was cut short is drawn again, equally; who came through is told of again.

    Raises:
        StorageError: a library that others share can't be written; nothing is paid for yet.
    """
    await ready(settings_of(runtime))
    problem, iteration = as_problem(state["problem"]), state.get("iteration", 0)
    modes = progress.draw_modes(settings_of(runtime), problem.id, iteration)
    runtime.stream_writer({"event": "iteration", "iteration": iteration, "modes": list(modes)})
    begun = progress.current({**state, "iteration": iteration})
    for rollout in (r for r in begun if not progress.candidate(r, iteration, r.index, r.mode)):
        runtime.stream_writer(of_candidate("candidate", rollout))
    return {"problem": problem, "iteration": iteration, "modes": modes, "stop": None}


async def epsilon_branch(state: State) -> list[Send]:
    """One rollout per candidate: with probability ε it explores, else it exploits.

    Candidates of this iteration that came through already are not sent again.
    """
    iteration, memory = state["iteration"], Unstored(memory_of(state))
    begun = {r.index: r for r in state.get("rollouts", ()) if r.iteration == iteration}
    return [
        Send("rollout", {"problem": state["problem"], "rollouts": (candidate,), "memory": memory})
        for index, mode in enumerate(state["modes"])
        if (candidate := progress.candidate(begun.get(index), iteration, index, mode))
    ]


async def decide(state: State, runtime: Runtime[Settings]) -> Update:
    """Close the iteration: record its attempts, find the leading answer, stop or go on.

    One in which a budget halted a candidate stays open, and the run stops: a resume with more
    goes on within it.

    Raises:
        AllCandidatesFailed: none came through; a resume tries the failed ones again.
    """
    if progress.is_halted(state):
        return {"stop": "budget"}
    if cause := progress.total_failure(state):
        await _stop_once(AllCandidatesFailed(cause))
        return {}
    settings, classes = settings_of(runtime), await asyncio.to_thread(progress.grouped, state)
    rule = progress.rule_of(settings)
    done = progress.closed(state, classes, rule)
    stop = progress.stop_reason({**state, **done}, settings, _budget())
    runtime.stream_writer(progress.standing(done, stop, rule))
    return {
        "iteration": done["iteration"],
        "history": done["history"],
        "classes": done["classes"],
        "rollouts": state["iteration"],
        "spend": done["spend"],
        "leader": done["leader"],
        "stop": stop,
    }


async def what_next(state: State) -> Literal["plan", "finish"]:
    """Is another iteration to come?"""
    return "finish" if state.get("stop") else "plan"


async def finish(state: State, runtime: Runtime[Settings]) -> Update:
    """State the answer with the best evidence, that of an iteration cut short included."""
    rule = progress.rule_of(settings_of(runtime))
    result = progress.result(await asyncio.to_thread(progress.concluded, state, rule), rule)
    runtime.stream_writer({"event": "result", "result": result})
    return {"result": result}


def build_graph(
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    *,
    context_schema: type[Settings] = Settings,
) -> CompiledStateGraph[State, Settings, Input, Output]:
    """Compile the graph of TMAS.

    Invoke it with `{"problem": …}` and the Settings as `context`; the result stands under
    `"result"`. With a checkpointer, `ainvoke(None, config, context=…)` resumes a run and repeats
    no finished model call. Don't set `max_concurrency` in the config: it delays checkpoints;
    `Settings.concurrency` limits the calls.

    Args:
        checkpointer: any LangGraph checkpointer that works asynchronously.
        context_schema: Settings, or a subclass with other defaults.
    """
    builder = StateGraph(
        State, context_schema=context_schema, input_schema=Input, output_schema=Output
    )
    builder.add_node("plan", plan)
    builder.add_node("rollout", build_rollout(stepwise=not keeps_calls(checkpointer)))
    builder.add_node("experience", update_experience)
    builder.add_node("guideline", update_guideline)
    builder.add_node("decide", decide)
    builder.add_node("finish", finish)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", epsilon_branch, ["rollout"])
    builder.add_edge("rollout", "experience")
    builder.add_edge("rollout", "guideline")
    builder.add_edge(["experience", "guideline"], "decide")
    builder.add_conditional_edges("decide", what_next)
    builder.add_edge("finish", END)
    return builder.compile(checkpointer=restoring(checkpointer), name="TMAS")


def _budget() -> Budget | None:
    budget: Budget | None = get_config()["configurable"].get(BUDGET)
    return budget


async def _stop_once(error: AllCandidatesFailed) -> None:
    """Raise `error`; on a resume return instead, so that the run goes on from here."""
    fresh = False

    @task
    async def stopped() -> bool:
        nonlocal fresh
        fresh = True
        return True

    await stopped()
    if fresh:
        raise error
