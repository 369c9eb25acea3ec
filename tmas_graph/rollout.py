"""The subgraph of one candidate: solve (initial, exploit or explore), verify, summarise.

Each candidate flows through at its own pace; nothing here waits for another candidate. An
endpoint that gives no reply makes the candidate `failed`, and a budget that allows no further call
makes it `halted`, as values, so that its siblings go on; sent in again, such a candidate continues
after its last finished agent.
"""

from dataclasses import replace
from typing import Any, Literal

from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import StreamWriter
from typing_extensions import TypedDict

from tmas_graph.agents import solution, summary, verification
from tmas_graph.errors import BudgetSpent, CallError
from tmas_graph.events import of_candidate
from tmas_graph.memory.ledger import ledger_of
from tmas_graph.memory.opening import bank_of
from tmas_graph.memory.retrieval import Noted, recalled
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import checkpointed
from tmas_graph.models.replies import Model, Reply, total
from tmas_graph.offers import experience_for, to_exploit, to_explore
from tmas_graph.prompts import Prompt, Prompts
from tmas_graph.recovery import namespace, restore
from tmas_graph.settings import Role, Settings
from tmas_graph.state import Memory, Mode, Problem, Rollout, Unstored


class RolloutInput(TypedDict):
    """What the parent sends."""

    problem: Problem
    rollouts: tuple[Rollout, ...]
    """The one candidate, as far as it has come."""
    memory: Unstored | dict[str, object]
    """What it may be shown; empty after a resume."""


class RolloutOutput(TypedDict):
    """What the parent gets; nothing else leaves, or parallel candidates would collide."""

    rollouts: tuple[Rollout, ...]


class RolloutState(RolloutInput):
    """State of one candidate."""


class RolloutUpdate(TypedDict, total=False):
    """What a node of this subgraph may return."""

    rollouts: tuple[Rollout, ...]


_Solver = Literal["solution_initial", "solution_exploit", "solution_explore"]
# In one Literal: LangGraph draws no edges for a union of two.
_Agent = Literal[
    "solution_initial", "solution_exploit", "solution_explore", "verification", "summary"
]
_SOLVERS: dict[Mode, _Solver] = {
    "initial": "solution_initial",
    "exploit": "solution_exploit",
    "explore": "solution_explore",
}


async def solution_initial(state: RolloutState, runtime: Runtime[Settings]) -> RolloutUpdate:
    """Write a first candidate; it sees the problem alone."""
    return await _solve(state, runtime, solution.initial(_prompts(runtime), state["problem"]))


async def solution_exploit(state: RolloutState, runtime: Runtime[Settings]) -> RolloutUpdate:
    """Write a candidate that sees the last rollouts and experience, other problems' too."""
    problem, settings = state["problem"], settings_of(runtime)

    async def asked(memory: Memory) -> Prompt:
        experience = await _retrieved(problem, memory, settings, runtime.stream_writer)
        shown = to_exploit(memory, experience, settings)
        return solution.exploit(_prompts(runtime), problem, shown)

    # All who exploit in an iteration are asked the same.
    return await _solve(state, runtime, await (await recall(state)).shared(asked))


async def solution_explore(state: RolloutState, runtime: Runtime[Settings]) -> RolloutUpdate:
    """Write a candidate that sees the guideline bank alone, and must avoid what it lists.

    Where that bank is off, it sees the problem alone.
    """
    strategies = to_explore((await recall(state)).memory, settings_of(runtime))
    asked = solution.explore(_prompts(runtime), state["problem"], strategies)
    return await _solve(state, runtime, asked)


async def verify(state: RolloutState, runtime: Runtime[Settings]) -> RolloutUpdate:
    """Check the candidate M times, each check on its own."""
    settings, candidate = settings_of(runtime), _candidate(state)
    model = model_of("verification", settings, state["problem"], candidate)
    passes, prompts = settings.verifications, Prompts.of(settings)
    try:
        replies = await verification.verify(
            model, prompts, state["problem"], candidate.solution, passes=passes
        )
    except (CallError, BudgetSpent) as error:
        return _update(runtime, stopped(candidate, "verification", error))
    candidate = candidate.charged("verification", total(replies))
    checks = verification.parsed(replies, passes)
    return _update(runtime, replace(candidate, verifications=checks))


async def summarise(state: RolloutState, runtime: Runtime[Settings]) -> RolloutUpdate:
    """Condense the checks into one short text."""
    settings, candidate = settings_of(runtime), _candidate(state)
    model = model_of("summary", settings, state["problem"], candidate)
    prompts, checks = Prompts.of(settings), candidate.verifications
    try:
        reply = await summary.summarise(
            model, prompts, state["problem"], candidate.solution, checks
        )
    except (CallError, BudgetSpent) as error:
        return _update(runtime, stopped(candidate, "summary", error))
    return _update(runtime, _finished(candidate.charged("summary", reply.usage), reply))


async def which_agent(state: RolloutState) -> _Agent:
    """Whose turn is it? That of the mode's solver, unless the candidate comes back half done."""
    candidate = _candidate(state)
    if candidate.verifications:
        return "summary"
    return "verification" if candidate.solution else _SOLVERS[candidate.mode]


async def is_still_open(state: RolloutState) -> bool:
    """Has the candidate come through so far?"""
    return _candidate(state).outcome == "open"


def build_rollout(
    *, stepwise: bool = True
) -> CompiledStateGraph[RolloutState, Settings, RolloutInput, RolloutOutput]:
    """Compile the subgraph.

    Args:
        stepwise: it inherits the checkpointer of the graph it is put in, and each of its steps is
            stored. Where the calls are stored by themselves that is wasted: a candidate that is
            begun again finds them there.
    """
    builder = StateGraph(
        RolloutState,
        context_schema=Settings,
        input_schema=RolloutInput,
        output_schema=RolloutOutput,
    )
    builder.add_node("solution_initial", solution_initial)
    builder.add_node("solution_exploit", solution_exploit)
    builder.add_node("solution_explore", solution_explore)
    builder.add_node("verification", verify)
    builder.add_node("summary", summarise)
    builder.add_conditional_edges(START, which_agent)
    for solver in _SOLVERS.values():
        builder.add_conditional_edges(solver, is_still_open, {True: "verification", False: END})
    builder.add_conditional_edges("verification", is_still_open, {True: "summary", False: END})
    builder.add_edge("summary", END)
    return builder.compile(checkpointer=None if stepwise else False, name="rollout")


def settings_of(runtime: Runtime[Settings]) -> Settings:
    """The run's settings; LangGraph gives None where the caller gave none."""
    return runtime.context or Settings()


def model_of(role: Role, settings: Settings, problem: Problem, candidate: Rollout) -> Model:
    """The model of `role` for this candidate, with a seed of its own."""
    place = Place(problem.id, candidate.iteration, role, candidate.index)
    return checkpointed(settings.endpoint(role), settings.seed, place)


async def recall(state: RolloutState) -> Unstored:
    """What carries the memory that this candidate may be shown.

    It comes with the candidate; after a resume it is read from the parent's checkpoint, which
    holds it once for all candidates.
    """
    if isinstance(state["memory"], Unstored):
        return state["memory"]
    place = get_config()["configurable"]
    parent = namespace(place, depth=2)
    at = {"thread_id": place["thread_id"], "checkpoint_ns": parent}
    if checkpoint_id := place.get("checkpoint_map", {}).get(parent):
        at["checkpoint_id"] = checkpoint_id
    stored = await place["__pregel_checkpointer"].aget_tuple({"configurable": at})
    return Unstored(memory_of(stored.checkpoint["channel_values"] if stored else {}))


def memory_of(values: Any) -> Memory:
    """What the graph's state `values` offer to the candidates of the iteration that runs."""
    iteration = values.get("iteration", 0)
    rollouts = tuple(r for r in values.get("rollouts", ()) if r.iteration < iteration)
    return Memory(
        rollouts,
        tuple(values.get("experience", ())),
        tuple(values.get("strategies", ())),
        tuple(values.get("borrowed", ())),
    )


async def _solve(state: RolloutState, runtime: Runtime[Settings], asked: Prompt) -> RolloutUpdate:
    settings, candidate = settings_of(runtime), _candidate(state)
    runtime.stream_writer(of_candidate("started", candidate))
    model = model_of("solution", settings, state["problem"], candidate)
    try:
        [reply, *_] = await model(asked)
    except (CallError, BudgetSpent) as error:
        return _update(runtime, stopped(candidate, "solution", error))
    candidate = candidate.charged("solution", reply.usage)
    return _update(runtime, solution.written(candidate, reply, state["problem"]))


def _prompts(runtime: Runtime[Settings]) -> Prompts:
    return Prompts.of(settings_of(runtime))


async def _retrieved(
    problem: Problem, memory: Memory, settings: Settings, tell: StreamWriter
) -> tuple[Noted, ...]:
    if not settings.experience:
        return ()
    bank, ledger = bank_of(settings), ledger_of(memory.experience)
    await restore(bank, ledger, problem.id, tell, depth=2)
    known = await recalled(bank, ledger)
    return await experience_for(problem, memory, settings, bank, known)


def _candidate(state: RolloutState) -> Rollout:
    [candidate] = state["rollouts"]
    return candidate


def _finished(candidate: Rollout, reply: Reply) -> Rollout:
    scores = tuple(replace(v, analysis="") for v in candidate.verifications)
    return replace(
        candidate,
        verifications=scores,
        summary=summary.parse(reply),
        outcome="finished",
    )


def stopped(candidate: Rollout, role: Role, error: CallError | BudgetSpent) -> Rollout:
    """`candidate` as `error` in a call of `role` leaves it: `failed`, or `halted` by a budget."""
    candidate = candidate.charged(role, error.usage)
    if isinstance(error, BudgetSpent):
        return replace(candidate, outcome="halted", cause=str(error))
    return replace(candidate, outcome="failed", cause=f"{role}: {error}")


def _update(runtime: Runtime[Settings], candidate: Rollout) -> RolloutUpdate:
    runtime.stream_writer(of_candidate("candidate", candidate))
    return {"rollouts": (candidate,)}
