"""The two nodes that close an iteration: what its rollouts leave in the two banks."""

import asyncio
from functools import partial

from langgraph.config import get_config
from langgraph.runtime import Runtime

from tmas_graph import progress
from tmas_graph.agents import experience, guideline
from tmas_graph.agents.solution import shown
from tmas_graph.channels import State, Update
from tmas_graph.errors import RequestRefused
from tmas_graph.events import of_borrowed, of_changes, of_strategies
from tmas_graph.memory import guideline_bank
from tmas_graph.memory.borrowing import Learned, exchange
from tmas_graph.memory.embeddings import thresholds_of
from tmas_graph.memory.flaws import findings
from tmas_graph.memory.items import item_rows
from tmas_graph.memory.ledger import applied, ledger_of, rows_of, united
from tmas_graph.memory.opening import bank_of
from tmas_graph.memory.retrieval import judged, recalled
from tmas_graph.models.calls import Place
from tmas_graph.models.checkpointed import checkpointed
from tmas_graph.models.replies import Model
from tmas_graph.prompts import Prompts
from tmas_graph.recovery import restore
from tmas_graph.rollout import settings_of
from tmas_graph.settings import Role, Settings
from tmas_graph.usage import Usage


async def update_experience(state: State, runtime: Runtime[Settings]) -> Update:
    """Note what the next attempts can reuse, and what speaks for or against what is noted."""
    settings, ledger = settings_of(runtime), ledger_of(state.get("experience", ()))
    if not settings.experience:
        return _off(runtime, "experience", state)
    rollouts = shown(progress.current(state), settings.rollouts_tokens)
    if progress.is_halted(state) or not rollouts:
        return {"bank_usage": {"experience": Usage()}}
    bank, problem, t = bank_of(settings), state["problem"], state["iteration"]
    model, prompts = _model("experience", state, settings), Prompts.of(settings)
    await restore(bank, ledger, problem.id, runtime.stream_writer)
    memories = await recalled(bank, ledger)
    wanted = [problem.question, *findings(r.summary for r in rollouts)]
    known = await judged(bank, memories, wanted, settings.experience_limit)
    try:
        reply = await experience.extract(model, prompts, problem, rollouts, known)
    except RequestRefused as error:
        return _skipped(runtime, "experience", error)
    changes, held = experience.parse(reply, known), [one.item for one in memories.items]
    if settings.dedup:
        vectors = await bank.vectors([*held, *changes.items])
        alike = partial(united, vectors=vectors, thresholds=thresholds_of(bank.embedder))
        changes = await asyncio.to_thread(alike, changes, held, memories.wrong)
    fresh = [item for item in changes.items if item not in held]
    await bank.write(fresh, problem=problem.id, iteration=t)
    runtime.stream_writer(of_changes(t, fresh, changes))
    after, summaries = applied(ledger, changes, t), [r.summary for r in rollouts]
    thread = str(get_config().get("configurable", {}).get("thread_id", ""))
    learned = Learned(ledger, after, [*held, *fresh], thread)
    borrowed = await exchange(settings, problem, summaries, learned)
    if settings.memory_scope != "problem":
        runtime.stream_writer(of_borrowed(t, borrowed))
    return {
        "experience": rows_of(after),
        "noted": item_rows(fresh),
        "borrowed": borrowed,
        "bank_usage": {"experience": reply.usage},
    }


async def update_guideline(state: State, runtime: Runtime[Settings]) -> Update:
    """List the strategies that were tried, how often, and how they ended."""
    settings, known = settings_of(runtime), tuple(state.get("strategies", ()))
    if not settings.guideline:
        return _off(runtime, "guideline", state)
    rollouts = shown(progress.current(state), settings.rollouts_tokens)
    if progress.is_halted(state) or not rollouts:
        return {"bank_usage": {"guideline": Usage()}}
    model, prompts = _model("guideline", state, settings), Prompts.of(settings)
    seen, t = guideline_bank.listed(known, settings.guideline_tokens), state["iteration"]
    try:
        reply = await guideline.name_strategies(model, prompts, state["problem"], rollouts, seen)
    except RequestRefused as error:
        return _skipped(runtime, "guideline", error)
    told = guideline.parse(reply, known, len(rollouts))
    scores = {number: rollout.score for number, rollout in enumerate(rollouts, 1)}
    # Comparing names may take a while: off the event loop.
    apply = partial(guideline_bank.applied, dedup=settings.dedup)
    bank = await asyncio.to_thread(apply, known, told.said, t, scores)
    runtime.stream_writer(of_strategies(t, known, bank, told.unknown))
    return {"strategies": bank, "bank_usage": {"guideline": reply.usage}}


def _model(role: Role, state: State, settings: Settings) -> Model:
    # Without a budget: an iteration whose candidates all came through is always closed, so that
    # what they found isn't lost.
    place = Place(state["problem"].id, state["iteration"], role)
    return checkpointed(settings.endpoint(role), settings.seed, place, unbudgeted=True)


def _off(runtime: Runtime[Settings], bank: str, state: State) -> Update:
    """Say that `bank` isn't kept; nothing is asked."""
    told = {"event": bank, "iteration": state["iteration"], "added": [], "off": True}
    runtime.stream_writer(told)
    return {"bank_usage": {bank: Usage()}}


def _skipped(runtime: Runtime[Settings], bank: str, error: RequestRefused) -> Update:
    runtime.stream_writer({"event": bank, "added": [], "cause": str(error)})
    return {"bank_usage": {bank: error.usage}}
