"""Verify-refine (DeepSeekMath-V2, arXiv 2511.22570): a pool of solutions, refined by their reviews.

Carried between iterations: the pool of all solutions, each with its M reviews and the score that
its writer gave it. Calls per problem: T·N·(1 + M), with meta-verification up to T·N·(1 + 2M). The
answer is that of the highest mean score; a mean of 1 ends the run.

Departures from the paper:
1. The writer's score of itself stands in plain words after the solution, for a box would be taken
   for the answer.
2. A mean of 1 counts only if `least_reviews` could be read (M at most); as published, one would do.
3. N and T are the settings', not 64 and 16; the N refinements go round the `refined` best.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tmas_graph.agents import verification
from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.answers.extract import answer_of
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import ask_each, review, write
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Problem, Rollout, Stop, Verification

AUDITED = 0.75
"""Reviews that score no more than this are audited."""
_ASSESSMENT = re.compile(r"^[#*_\s]{0,9}self-assessment\b", re.IGNORECASE | re.MULTILINE)


async def verify_refine(run: Run) -> Stop | None:
    """Write N solutions and review them; then refine the pool's best, T − 1 times."""
    own, pool = run.settings.methods.verify_refine, list[Rollout]()
    for _ in range(run.settings.iterations):
        step = partial(_candidate, run, ranked(pool)[: own.refined])
        pool += await run.round(step, depth=2 + own.meta_verification)
        if any(is_settled(run.settings, rollout) for rollout in pool):
            return "confident"
    return None


async def _candidate(run: Run, best: Sequence[Rollout], blank: Rollout) -> Rollout:
    source = best[blank.index % len(best)] if best else None
    reviewed = await review(run, await _written(run, blank, source))
    return (
        await audited(run, reviewed)
        if run.settings.methods.verify_refine.meta_verification
        else reviewed
    )


async def _written(run: Run, blank: Rollout, source: Rollout | None) -> Rollout:
    if source is None:
        return self_graded(await write(run, blank, "methods/self_graded"), run.problem)
    most = run.settings.methods.verify_refine.reviews_shown
    shown = Shown(verifications=worst_first(source.verifications)[:most])
    given = {"solution": source.solution, "self_graded": True}
    return self_graded(await write(run, blank, "methods/refine", shown, given=given), run.problem)


async def audited(run: Run, rollout: Rollout) -> Rollout:
    """The candidate whose reviews that don't hold have lost their text; no score changes."""
    doubtful = [
        place
        for place, v in enumerate(rollout.verifications)
        if v.analysis and v.score is not None and v.score <= AUDITED
    ]

    if rollout.outcome != "open":
        return rollout
    prompts = [
        prompt(
            run.prompts, "methods/audit", run.problem, solution=rollout.solution, review=v.analysis
        )
        for v in (rollout.verifications[place] for place in doubtful)
    ]
    rollout, replies = await ask_each(run, rollout, "verification", prompts)
    reviews = list(rollout.verifications)
    for place, reply in zip(doubtful, replies, strict=True):
        if verification.parse(reply).score == 0:
            reviews[place] = replace(reviews[place], analysis="")
    return replace(rollout, verifications=tuple(reviews))


def self_graded(rollout: Rollout, problem: Problem) -> Rollout:
    """The candidate with what its writer says of it set apart, as its summary."""
    found = list(_ASSESSMENT.finditer(rollout.solution))
    if not found:
        return rollout
    text = rollout.solution[: found[-1].start()].rstrip()
    if not text:
        return rollout
    answer = answer_of(text) if problem.kind == "answer" else None
    said = rollout.solution[found[-1].start() :].strip()
    return replace(rollout, solution=text, answer=answer, summary=said)


def self_score(rollout: Rollout) -> float:
    """What its writer gave it; where that can't be read, less than a 0."""
    score = verification.score_of(rollout.summary)
    return -1.0 if score is None else score


def ranked(pool: Sequence[Rollout]) -> list[Rollout]:
    """The pool without equal texts, best first: by mean score, then by the writer's own."""
    unique = dict[str, Rollout]()
    for rollout in pool:
        unique.setdefault(rollout.solution, rollout)

    def key(rollout: Rollout) -> tuple[float, float]:
        return (-1.0 if rollout.score is None else rollout.score), self_score(rollout)

    return sorted(unique.values(), key=key, reverse=True)


def worst_first(reviews: Sequence[Verification]) -> tuple[Verification, ...]:
    """The reviews that say something, the lowest score first; an unreadable one says nothing."""
    read = [v for v in reviews if v.analysis and v.score is not None]
    return tuple(sorted(read, key=lambda v: v.score or 0.0))


def is_settled(settings: Settings, rollout: Rollout) -> bool:
    """Whether all its reviews say 1, and they are enough."""
    scores = [v.score for v in rollout.verifications if v.score is not None]
    least = min(settings.methods.verify_refine.least_reviews, settings.verifications)
    return len(scores) >= least and all(score == 1 for score in scores)


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    reviews = settings.verifications * (
        2 if settings.methods.verify_refine.meta_verification else 1
    )
    return settings.iterations * settings.candidates * (1 + reviews)


build = method(verify_refine, Rule("best"))
