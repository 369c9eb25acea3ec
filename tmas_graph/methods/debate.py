"""Multi-agent debate (Du et al., arXiv 2305.14325): agents who answer anew after hearing others.

Carried between iterations: the last answer of each agent. Calls per problem: agents × rounds; where
the others' answers exceed `rollouts_tokens`, one more for each agent and round, which condenses
them. The answer is that of most in the last round.

Departures from the paper:
1. An agent sees its own last answer and the others', not the talk of all rounds, which would grow
   with agents × rounds.
2. An agent whose reply was lost or cut is heard with its answer before that, but has no vote.
3. If a condensed text is cut, as many of the others' answers are shown as fit.
4. N and T aren't used: `agents` and `rounds` are 3 and 2, as published.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from tmas_graph.agents import summary
from tmas_graph.agents.fitting import Shown, prompt
from tmas_graph.parts.combining import LONGEST_NOTES, mode_after, seen
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import ask, write
from tmas_graph.prompts import estimate_tokens
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


async def debate(run: Run) -> None:
    """Let all agents answer, and answer again with the others' answers before them."""
    own, last = run.settings.methods.debate, dict[int, Rollout]()
    for _ in range(own.rounds):
        long = any(is_too_long(run, others_of(last, index)) for index in range(own.agents))
        step, mode = partial(_candidate, run, dict(last)), mode_after(tuple(last))
        answers = await run.round(step, count=own.agents, mode=mode, depth=1 + long)
        last |= {answer.index: answer for answer in answers}


async def _candidate(run: Run, last: Mapping[int, Rollout], blank: Rollout) -> Rollout:
    if not last:
        return await write(run, blank)
    others, notes = others_of(last, blank.index), ""
    if is_too_long(run, others):
        shown = Shown(rollouts=others)
        asked = prompt(run.prompts, "methods/condense", run.problem, shown, words=LONGEST_NOTES)
        blank, replies = await ask(run, blank, "summary", asked)
        notes = summary.parse(replies[0])
    before = last[blank.index].solution if blank.index in last else ""
    given = {"own": before, "notes": notes}
    return await write(run, blank, "methods/debate", seen(run, others), given=given)


def others_of(last: Mapping[int, Rollout], agent: int) -> tuple[Rollout, ...]:
    """The last answers of all agents but `agent`, in their order."""
    return tuple(last[index] for index in sorted(last) if index != agent)


def is_too_long(run: Run, others: Sequence[Rollout]) -> bool:
    """Whether the answers of `others` are to be condensed."""
    return sum(estimate_tokens(r.solution) for r in others) > run.settings.rollouts_tokens


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    own = settings.methods.debate
    return own.agents * (2 * own.rounds - 1)


build = method(debate, Rule("majority", "last"))
