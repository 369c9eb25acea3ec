"""PDR (parallel, distil, refine; arXiv 2510.01123): rounds of drafts around a bounded workspace.

Carried between iterations: the workspace, made anew of the last round's drafts and of nothing else:
notes on them (`summary`), the K best of them (`top-k`), or K at random (`random-k`). Calls per
problem: the drafts, (8, 4, 1) as published, and one between two rounds for notes or the best. The
answer is that of the last, single draft.

Departures from the paper:
1. The K best are picked by one reply that names their numbers; K drafts or fewer need no reply.
2. Notes that were cut or are longer than `rollouts_tokens`, and numbers that can't be read, are
   none: the workspace is K drafts at random.
3. N and T aren't used: `drafts` says how many, round by round.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from tmas_graph.agents import summary
from tmas_graph.answers.extract import last_boxed
from tmas_graph.models.replies import Reply
from tmas_graph.parts.combining import LONGEST_NOTES, combine, draws, mode_after, seen
from tmas_graph.parts.method import method
from tmas_graph.parts.run import Run
from tmas_graph.parts.steps import distil, write
from tmas_graph.prompts import estimate_tokens
from tmas_graph.settings import Settings
from tmas_graph.standings import Rule
from tmas_graph.state import Rollout


@dataclass(frozen=True, slots=True)
class Workspace:
    """What the drafts of one round see."""

    notes: str = ""
    drafts: tuple[Rollout, ...] = ()
    """Shown in place of notes."""
    calls: int = 0
    """How many it took."""


async def pdr(run: Run) -> None:
    """Write drafts, distil them, and write the next ones."""
    drafts: Sequence[Rollout] = ()
    for count in run.settings.methods.pdr.drafts:
        space = await _distilled(run, drafts)
        step, mode = partial(_candidate, run, space), mode_after(drafts)
        drafts = await run.round(step, count=count, mode=mode, depth=1 + space.calls) or drafts


async def _candidate(run: Run, space: Workspace, blank: Rollout) -> Rollout:
    if space.notes:
        return await write(run, blank, "methods/noted", given={"notes": space.notes})
    return await combine(run, blank, space.drafts)


async def _distilled(run: Run, drafts: Sequence[Rollout]) -> Workspace:
    own = run.settings.methods.pdr
    some = tuple(draws(run).sample(drafts, min(own.kept, len(drafts))))
    if not drafts or own.workspace == "random-k":
        return Workspace(drafts=some)
    shown = seen(run, drafts)
    if own.workspace == "summary":
        reply = await distil(run, "summary", "methods/condense", shown, words=LONGEST_NOTES)
        notes = summary.parse(reply)
        fits = notes and estimate_tokens(notes) <= run.settings.rollouts_tokens
        return Workspace(notes, calls=1) if fits else Workspace(drafts=some, calls=1)
    if len(drafts) <= own.kept:
        return Workspace(drafts=tuple(drafts))
    reply = await distil(run, "verification", "methods/pick", shown, count=own.kept)
    best = tuple(drafts[place] for place in picked(reply, len(drafts))[: own.kept])
    return Workspace(drafts=best or some, calls=1)


def picked(reply: Reply, count: int) -> list[int]:
    r"""The places, from 0 on, that the last `\boxed{}` of a whole reply names of `count`."""
    boxed = last_boxed(reply.text) if reply.whole else None
    places = [int(number) - 1 for number in re.findall(r"\d{1,4}", boxed or "")]
    return [place for place in dict.fromkeys(places) if 0 <= place < count]


def calls(settings: Settings) -> int:
    """Calls per problem at most."""
    own = settings.methods.pdr
    between = 0 if own.workspace == "random-k" else len(own.drafts) - 1
    return sum(own.drafts) + between


build = method(pdr, Rule("majority", "last"))
