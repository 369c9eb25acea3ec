"""What the graph decides without a model: modes, standings, when to stop, the result."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from math import floor
from typing import Any

from typing_extensions import TypedDict

from tmas_graph import spending
from tmas_graph.answers.select import Classes, Selection
from tmas_graph.answers.voting import group
from tmas_graph.events import of_standing
from tmas_graph.models.budget import Budget
from tmas_graph.settings import Settings
from tmas_graph.standings import BY_SCORE, Rule, chosen_by, stood
from tmas_graph.state import Attempt, Mode, Outcome, Result, Rollout, Standing, Stop, digest
from tmas_graph.usage import Usage

State = Mapping[str, Any]
"""The graph's state, read only; channels.py says what each part holds."""

Row = tuple[int, int, Mode, Outcome, str | None, float | None]
"""The fields of an Attempt: what a checkpoint holds of it."""


DEPTH = 4
"""Calls in sequence in an iteration: solution, verification, summary, and the banks together."""


class Closed(TypedDict):
    """What changes in the graph's state when an iteration ends."""

    iteration: int
    history: tuple[Row, ...]
    classes: Classes
    spend: tuple[spending.Row, ...]
    leader: Rollout | None


def draw_modes(settings: Settings, problem_id: str, iteration: int) -> tuple[Mode, ...]:
    """The mode of each candidate: equal for equal seed, problem and iteration, on any machine.

    `bernoulli` flips a coin per candidate. `stratified` makes ⌊εN⌋ or ⌈εN⌉ explorers, so that
    their share over all iterations is ε, and lets them go round the candidates.
    """
    n = settings.candidates
    if iteration == 0:
        return tuple("initial" for _ in range(n))
    if settings.mode_draws == "bernoulli":
        draws = [_draw(settings.seed, problem_id, iteration, i) for i in range(n)]
        return tuple("explore" if draw < settings.epsilon else "exploit" for draw in draws)
    share = settings.epsilon * n
    # The small term keeps .1 · 10 · 3 and the like from falling just short of a whole number.
    before, after = floor(share * (iteration - 1) + 1e-9), floor(share * iteration + 1e-9)
    explorers = {k % n for k in range(before, after)}
    return tuple("explore" if i in explorers else "exploit" for i in range(n))


def candidate(begun: Rollout | None, iteration: int, index: int, mode: Mode) -> Rollout | None:
    """The candidate to send in, where it failed or was halted from there on; None if it's done."""
    if begun is None:
        return Rollout(iteration, index, mode)
    goes_on = begun.outcome in ("failed", "halted")
    return replace(begun, outcome="open", cause="") if goes_on else None


def current(state: State) -> tuple[Rollout, ...]:
    """The rollouts of the iteration that runs."""
    return tuple(r for r in state.get("rollouts", ()) if r.iteration == state["iteration"])


def attempts(state: State) -> tuple[Attempt, ...]:
    """Every candidate so far, in order."""
    return tuple(Attempt(*row) for row in state.get("history", ()))


def is_halted(state: State) -> bool:
    """Whether a budget kept a candidate of this iteration from coming through."""
    return any(r.outcome == "halted" for r in current(state))


def total_failure(state: State) -> str:
    """Why the iteration can't go on, if endpoints failed and no candidate came through.

    One that a budget halted is no total failure: with more, it can go on.
    """
    rollouts = current(state)
    causes = [r.cause for r in rollouts if r.outcome == "failed"]
    if not causes or any(r.outcome in ("finished", "halted") for r in rollouts):
        return ""
    return (
        f"iteration {state['iteration']}: no candidate came through; "
        f"{len(causes)} of {len(rollouts)} failed, the first with: {causes[0]} "
        "Mend the cause, then resume: what finished is kept."
    )


def grouped(state: State) -> Classes:
    """The class of each attempt's answer, those of the iteration that ends included.

    The only step here that may wait for a grading process: never call it on an event loop.
    """
    answers = [a.answer for a in (*attempts(state), *map(attempt_of, current(state)))]
    return group(answers, tuple(state.get("classes", ())))


def rule_of(settings: Settings) -> Rule:
    """How TMAS chooses: every candidate of every iteration votes, as its checks scored it."""
    return Rule(power=settings.score_power)


def closed(state: State, classes: Classes, rule: Rule = BY_SCORE) -> Closed:
    """The state's changes when its iteration ends, all but whether to stop."""
    rollouts = current(state)
    history = (*state.get("history", ()), *(astuple(attempt_of(r)) for r in rollouts))
    ended = {"problem": state["problem"], "history": history, "classes": classes}
    rows = spending.rows_of(state["iteration"], rollouts, state.get("bank_usage") or {})
    return {
        "iteration": state["iteration"] + 1,
        "history": history,
        "classes": classes,
        "spend": (*state.get("spend", ()), *rows),
        "leader": _leader(ended, [state.get("leader"), *rollouts], rule),
    }


def concluded(state: State, rule: Rule = BY_SCORE) -> State:
    """`state` with the votes of those who came through, where its iteration was cut short.

    Like `grouped` it may wait for a grading process: never call it on an event loop.
    """
    through = tuple(r for r in current(state) if r.outcome == "finished")
    if not through:
        return state
    ended = {**state, "rollouts": through}
    done = closed(ended, grouped(ended), rule)
    votes = {"history": done["history"], "classes": done["classes"], "leader": done["leader"]}
    return {**state, **votes}


def stop_reason(state: State, settings: Settings, budget: Budget | None = None) -> Stop | None:
    """Why no further iteration is due under `settings` and `budget`; None if one is."""
    if state["iteration"] >= settings.iterations:
        return "iterations"
    if spending.limit_reached(state, settings, budget):
        return "budget"
    return "confident" if settings.early_stop and _confident(state, settings) else None


def result(state: State, rule: Rule = BY_SCORE) -> Result:
    """The answer with the best evidence over all iterations."""
    leader, choice, spend = state.get("leader"), _choice(state, rule), spending.account(state)
    proof = state["problem"].kind == "proof"
    score = leader.score if leader else None
    return Result(
        answer=choice.answer,
        confidence=(score or 0.0) if proof else choice.confidence,
        solution=leader.solution if leader else "",
        score=score,
        iterations=state["iteration"],
        stop=state.get("stop") or "iterations",
        usage=spending.total(spend),
        spend=spend,
        attempts=attempts(state),
        standings=_standings(state, rule),
    )


def standing(state: State, stop: Stop | None, rule: Rule = BY_SCORE) -> dict[str, Any]:
    """The event that ends an iteration: who leads, and what was spent."""
    choice, leader, t = _choice(state, rule), state["leader"], state["iteration"] - 1
    score = leader.score if leader else None
    spent = spending.total(spending.account({"spend": state["spend"]}))
    return of_standing(Standing(t, choice.answer, choice.confidence, score, DEPTH), spent, stop)


def by_bank(old: dict[str, Usage], new: dict[str, Usage]) -> dict[str, Usage]:
    """Reducer: the newest usage of each bank agent, in whatever order they finished."""
    both = {**(old or {}), **new}
    return {name: both[name] for name in sorted(both)}


def _draw(seed: int, problem_id: str, iteration: int, index: int) -> float:
    name = digest("mode", str(seed), problem_id, str(iteration), str(index))
    return random.Random(int(name, 16)).random()


def attempt_of(r: Rollout) -> Attempt:
    """What stays of a rollout for good."""
    return Attempt(r.iteration, r.index, r.mode, r.outcome, r.answer, r.score)


def _choice(state: State, rule: Rule, until: int | None = None) -> Selection:
    """The leading answer; after iteration `until`, where one is given."""
    tried = [a for a in attempts(state) if until is None or a.iteration <= until]
    return chosen_by(rule, tried, tuple(state.get("classes", ())))[0]


def _standings(state: State, rule: Rule) -> tuple[Standing, ...]:
    kind, history, classes = state["problem"].kind, attempts(state), tuple(state.get("classes", ()))
    done = range(state["iteration"])
    return tuple(stood(kind, t, history, classes, rule=rule, depth=DEPTH) for t in done)


def _leader(state: State, rollouts: Sequence[Rollout | None], rule: Rule) -> Rollout | None:
    # An answer takes the lead only by new votes, so a rollout that gave it is at hand.
    written = [r for r in rollouts if r is not None and r.solution]
    if state["problem"].kind == "answer":
        lead = _choice(state, rule).lead
        places = zip(attempts(state), state["classes"], strict=True)
        class_of = {(a.iteration, a.index): number for a, number in places}
        written = [r for r in written if lead and class_of[r.iteration, r.index] == lead.number]
    return max(written, key=evidence, default=None)


def evidence(rollout: Rollout) -> tuple[float, int, int]:
    """Sorts rollouts: the higher mean score, then the later iteration, then the lower index."""
    score = -1.0 if rollout.score is None else rollout.score
    return score, rollout.iteration, -rollout.index


def _confident(state: State, settings: Settings) -> bool:
    done = state["iteration"]
    window = range(done - settings.early_stop_iterations, done)
    if window.start < 0:
        return False
    if state["problem"].kind == "proof":
        return all(_proof_holds(attempts(state), t, settings) for t in window)
    choices = [_choice(state, rule_of(settings), t) for t in window]
    leads = [choice.lead for choice in choices]
    return len({lead.number for lead in leads if lead}) == 1 and all(
        lead is not None
        and choice.confidence >= settings.early_stop_share
        and (lead.score or 0.0) >= settings.early_stop_score
        for choice, lead in zip(choices, leads, strict=True)
    )


def _proof_holds(history: Sequence[Attempt], iteration: int, settings: Settings) -> bool:
    scores = [a.score or 0.0 for a in history if a.iteration <= iteration]
    return max(scores, default=0.0) >= settings.early_stop_score
