"""The Solution agent: one candidate, in one of three modes."""

from collections.abc import Sequence
from dataclasses import replace

from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.answers.extract import answer_of
from tmas_graph.memory.guideline_bank import Listed
from tmas_graph.models.replies import Reply
from tmas_graph.prompts import Prompt, Prompts, estimate_tokens
from tmas_graph.state import Problem, Rollout


def initial(prompts: Prompts, problem: Problem) -> Prompt:
    """Asks for a candidate by one who knows nothing but the problem."""
    return prompt(prompts, "solution_initial", problem)


def exploit(prompts: Prompts, problem: Problem, shown: Shown) -> Prompt:
    """Asks for a candidate that repairs the last rollouts and reuses experience."""
    return prompt(prompts, "solution_exploit", problem, shown)


def explore(prompts: Prompts, problem: Problem, strategies: Listed) -> Prompt:
    """Asks for a candidate that avoids every strategy that was tried."""
    return prompt(prompts, "solution_explore", problem, Shown(strategies=strategies))


def written(candidate: Rollout, reply: Reply, problem: Problem) -> Rollout:
    """`candidate` with what `reply` gives it: a solution, or the reason why it is none."""
    if reply.ending != "whole":
        cause = reply.refusal or ("" if reply.ending == "truncated" else reply.finish_reason)
        return replace(candidate, outcome=reply.ending, cause=cause[:200])
    answer = answer_of(reply.text) if problem.kind == "answer" else None
    return replace(candidate, solution=reply.text, answer=answer)


def shown(rollouts: Sequence[Rollout], tokens: int) -> tuple[Rollout, ...]:
    """The finished of `rollouts`, best first, cut to about `tokens`.

    The solutions with the lowest scores lose their text first; their summaries stay.
    """
    finished = [r for r in rollouts if r.solution and r.outcome == "finished"]
    ranked = sorted(finished, key=lambda r: -1.0 if r.score is None else r.score, reverse=True)
    left = tokens - sum(estimate_tokens(r.summary) for r in ranked)
    fitted = []
    for rollout in ranked:
        left -= estimate_tokens(rollout.solution)
        fitted.append(rollout if left >= 0 else replace(rollout, solution=""))
    return tuple(fitted)
